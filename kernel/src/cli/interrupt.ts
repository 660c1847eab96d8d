import { EXIT } from './exit-codes.ts'

/**
 * Runs a function with a signal that SIGINT and SIGTERM abort. A second signal ends the process immediately. Resolves
 * to 130 if the function throws after the abort.
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
