"""How many sessions are active: state tracking, as in the D-Streams paper."""

from dstream_data import client_events, main

import waterclock as wc


def active_sessions(events: wc.DStream) -> wc.DStream:
    by_client = events.map(client="client", kind="kind")
    sessions = by_client.track(
        lambda key, event: 1,
        lambda key, state, event: None if event.kind == "exit" else 1,
        "15s",
    )
    return sessions.count()


if __name__ == "__main__":
    main(client_events, "5s", active_sessions)
