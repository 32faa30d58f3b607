SELECT who, vip IS TRUE AS yes, vip IS NOT TRUE AS no FROM visits
