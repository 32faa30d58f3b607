"""Fraudulent clicks on advertisements: 18 joins of five kinds (inner, left outer, semi, anti, clip) in one program.

A click is suspicious when its advertisement was never shown to the user, when its address is reported or clicks too
fast, when it repeats at once, when its advertisement surges without sales, and the user is not trusted. Suspicious
clicks are refunded at the campaign's bid.
"""

import argparse
import random
import tempfile

import polars as pl

import waterclock as wc

SECOND = 1_000_000
AGENTS = ("firefox", "chrome", "safari", "curl", "bot")


def declare(app: wc.App) -> dict[str, wc.SourceStream]:
    """Four streams. Clicks, shown advertisements and sales are points; a report blocks an address for a while."""
    times = {"ts": "timestamp"}
    return {
        "shown": app.stream("shown", {"user": int, "ad": int, **times}, time="ts"),
        "clicks": app.stream(
            "clicks", {"click": int, "user": int, "ad": int, "ip": int, "agent": str, **times}, time="ts"
        ),
        "sales": app.stream("sales", {"user": int, "ad": int, "amount": int, **times}, time="ts"),
        "reports": app.stream("reports", {"ip": int, **times, "until": "timestamp"}, time="ts", end="until"),
    }


def query(app: wc.App, streams: dict[str, wc.SourceStream]) -> tuple[wc.Stream, wc.Stream]:
    """Refunds per click, and what each advertiser gets back per minute."""
    col = wc.col
    shown, sales, reports = (streams[name].drop("ts") for name in ("shown", "sales", "reports"))
    campaigns = app.table(
        "campaigns", {"ad": int, "advertiser": str, "bid": int},
        [{"ad": ad, "advertiser": f"a{ad % 3}", "bid": 5 + ad} for ad in range(8)],
    )  # fmt: skip
    robots = app.table("robots", {"agent": str}, [{"agent": "curl"}, {"agent": "bot"}])

    # Clicks of known campaigns by people.
    clicks = streams["clicks"].drop("ts")
    priced = clicks.join(campaigns, on="ad")  # 1 inner
    human = priced.anti_join(robots, on="agent")  # 2 anti

    # Was the advertisement on the user's screen in the last ten seconds?
    on_screen = shown.set_duration("10s").distinct()
    unseen = human.anti_join(on_screen, on=["user", "ad"]).select("click", reason=wc.lit("unseen"))  # 3 anti
    seen = human.semi_join(on_screen, on=["user", "ad"])  # 4 semi

    # Addresses that were reported, and addresses that click too fast.
    reported = human.semi_join(reports, on="ip").select("click", reason=wc.lit("reported"))  # 5 semi
    rates = human.group_by("ip").sliding("5s").agg(rate=wc.count())
    fast = seen.semi_join(rates.filter(col("rate") >= 4), on="ip").select("click", reason=wc.lit("fast"))  # 6 semi

    # The same user clicks the same advertisement again within two seconds.
    waiting = human.select("click", "user", "ad").set_duration("10s")
    waited = waiting.clip_join(human, on=["user", "ad"])  # 7 clip
    pause = wc.end().unix_micros() - wc.start().unix_micros()
    again = waited.with_columns(pause=pause).filter(col("pause") < 2 * SECOND).clip_duration(1)
    repeated = again.select("click", reason=wc.lit("repeated"))

    # Advertisements that surge against their own minute, and sell nothing meanwhile.
    now = human.group_by("ad").tumbling("5s", result="hold").agg(now=wc.count())
    before = human.group_by("ad").hopping("60s", "5s").agg(before=wc.count())
    surge = now.join(before, on="ad").filter(col("now") * 4 > col("before"))  # 8 inner
    bought = sales.set_duration("5s")
    hollow = surge.anti_join(bought, on="ad").stitch()  # 9 anti
    surging = human.semi_join(hollow, on="ad").select("click", reason=wc.lit("surge"))  # 10 semi

    # Trust: buyers, and users whose sessions are calm.
    buyers = sales.select("user").set_duration("30s").distinct()
    calm = human.group_by("user").session("8s").agg(clicks=wc.count(), ads=wc.count_distinct("ad"))
    calm_users = calm.filter(col("clicks") <= 2).select("user")
    suspects = unseen.union(reported, fast, repeated, surging)
    marked = suspects.join(human, on="click")  # 11 inner
    strangers = marked.anti_join(buyers, on="user")  # 12 anti
    wild = strangers.anti_join(calm_users, on="user")  # 13 anti

    # What is known about each: its address' rate, its user's session, the last sale of its advertisement.
    with_rate = wild.join(rates, on="ip", how="left")  # 14 left outer
    with_session = with_rate.join(calm.select("user", session=col("clicks")), on="user", how="left")  # 15 left outer
    last_sale = sales.select("ad", "amount").set_duration("20s").clip_join(sales, on="ad")  # 16 clip
    scored = with_session.join(last_sale, on="ad", how="left")  # 17 left outer
    score = wc.coalesce(col("rate"), 0) * 2 + wc.coalesce(col("session"), 0) - wc.coalesce(col("amount"), 0) // 10
    guilty = scored.with_columns(score=score).filter(col("score") > 1).select("click", "reason", "score")
    refunds = guilty.join(human.select("click", "advertiser", "bid"), on="click").distinct()  # 18 inner

    per_minute = refunds.group_by("advertiser").tumbling("60s")
    return refunds, per_minute.agg(refund=wc.sum("bid"), clicks=wc.count_distinct("click"))


def rows(count: int, seed: int = 7) -> dict[str, pl.DataFrame]:
    """Random events in order of time: ``count`` clicks and what goes with them."""
    draw = random.Random(seed)
    time = 1_700_000_000 * SECOND
    made: dict[str, list[dict[str, object]]] = {"shown": [], "clicks": [], "sales": [], "reports": []}
    for click in range(count):
        time += draw.randrange(1, SECOND)
        user, ad, ip = draw.randrange(12), draw.randrange(9), draw.randrange(6)
        if draw.random() < 0.6:
            made["shown"].append({"user": user, "ad": ad, "ts": time - draw.randrange(1, 3 * SECOND)})
        agent = draw.choice(AGENTS)
        one = {"click": click, "user": user, "ad": ad, "ip": ip, "agent": agent, "ts": time}
        made["clicks"].append(one)
        if draw.random() < 0.3:
            made["clicks"].append({**one, "click": count + click, "ts": time + draw.randrange(1, 3 * SECOND)})
        if draw.random() < 0.2:
            made["sales"].append({"user": user, "ad": ad, "amount": draw.randrange(100), "ts": time + SECOND})
        if draw.random() < 0.05:
            made["reports"].append({"ip": ip, "ts": time, "until": time + draw.randrange(1, 20 * SECOND)})
    moment = pl.col("^(ts|until)$").cast(pl.Datetime("us", "UTC"))
    return {name: pl.DataFrame(found).with_columns(moment).sort("ts") for name, found in made.items()}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clicks", type=int, default=2000)
    parser.add_argument("--mode", choices=["offline", "drain", "batch"], default="offline")
    given = parser.parse_args()
    app = wc.App("fraud", store=tempfile.mkdtemp())
    streams = declare(app)
    refunds, per_minute = query(app, streams)
    refunds.into("refunds")
    per_minute.into("per_minute")
    for name, frame in rows(given.clicks).items():
        streams[name].push(frame)
        streams[name].end()
    handle = app.run(mode=given.mode)
    handle.wait()
    print(handle.frame("per_minute").sort("_vs", "advertiser"))
    print(f"{handle.frame('refunds').height} refunds of {given.clicks} clicks")
