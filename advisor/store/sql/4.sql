-- Trials once counted from 0.
UPDATE trial SET number = number + 1;
