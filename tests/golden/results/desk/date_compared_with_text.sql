SELECT who, day = '2026-01-05' AS monday FROM visits
