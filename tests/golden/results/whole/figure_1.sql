CREATE STREAM Process (ProcessID INT, UserID STRING, Started TIMESTAMP, Ended TIMESTAMP)
  LIFETIME (Started, Ended)                    -- open end: NULL
  WATERMARK Started - 2s IDLE AFTER 30s
  LATE DROP;

CREATE STREAM Alert (ProcessID INT, Name STRING, At TIMESTAMP)
  POINT AT At
  WATERMARK At - 2s;

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
