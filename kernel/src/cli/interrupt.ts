import { EXIT } from './exit-codes.ts'

/**
 * Runs something that Ctrl-C ends cleanly: the first signal aborts, a second one ends the process immediately. Resolves
 * to 130 if the run was interrupted, even if it threw.
 */
export async function interruptible(run: (signal: AbortSignal) => Promise<number>): Promise<number> {
  const controller = new AbortController()
  const onSignal = (): void => {
    if (controller.signal.aborted) process.exit(EXIT.interrupted)
    controller.abort()
  }
  process.on('SIGINT', onSignal)
  process.on('SIGTERM', onSignal)
  try {
    return await run(controller.signal)
  } catch (error) {
    if (!controller.signal.aborted) throw error
    return EXIT.interrupted
  } finally {
    process.off('SIGINT', onSignal)
    process.off('SIGTERM', onSignal)
  }
}
