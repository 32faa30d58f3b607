-- Alerts per user: figure 1 of the StreamScope paper as it is printed, with its streams and its output.
--
--   waterclock run examples/alerts.sql --mode offline --store ./alerts-store
--   waterclock tail CountAlerts --store ./alerts-store

CREATE STREAM Process (ProcessID INT, UserID STRING, Started TIMESTAMP, Ended TIMESTAMP)
  LIFETIME (Started, Ended) -- where Ended is null, the process still runs
  WATERMARK Started - 2s IDLE AFTER 30s
  LATE DROP
  FROM files('examples/alerts/process.jsonl');

CREATE STREAM Alert (ProcessID INT, Name STRING, At TIMESTAMP)
  POINT AT At
  WATERMARK At - 2s IDLE AFTER 30s
  LATE DROP
  FROM files('examples/alerts/alert.jsonl');

AlertWithUserID =
SELECT Alert.Name AS Name, Process.UserID AS UserID
FROM Process INNER JOIN Alert
ON Process.ProcessID == Alert.ProcessID;

CountAlerts =
SELECT UserID, COUNT(*) AS AlertCount
FROM AlertWithUserID
GROUP BY UserID
WITH HOPPING(5s, 5s);

OUTPUT CountAlerts;
