// How long something has left, between two readings of it.
import { useEffect, useState } from 'react';

/**
 * Counts down by this browser's own clock from what the appliance said last.
 * @param readAt when it said so, in milliseconds since the epoch by this browser's clock
 */
export function useSecondsLeft(secondsLeft: number, readAt: number): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 250);
    return () => clearInterval(timer);
  }, []);
  return Math.max(0, Math.ceil(secondsLeft - (Math.max(now, readAt) - readAt) / 1000));
}
