select WHO, Cost as c from CALLS where COST > 2
