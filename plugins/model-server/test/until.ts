/** Waits until something holds; the runner's time-out is the limit. */
export async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise(resolve => setTimeout(resolve, 5))
}
