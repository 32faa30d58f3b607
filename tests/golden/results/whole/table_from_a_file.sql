CREATE STREAM Alert (ProcessID INT, Name STRING, At TIMESTAMP) WATERMARK At;
CREATE TABLE Severity (Name STRING, Level INT) FROM files('severity.csv');

Severe = SELECT a.Name, s.Level FROM Alert a JOIN Severity s ON a.Name = s.Name WHERE s.Level >= 2;

OUTPUT Severe;
