import { raceAbort } from '@svc/plugin-sdk'

/** Resolves after the time; rejects with the signal's reason if the signal is aborted first. */
export function delay(milliseconds: number, signal: AbortSignal): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const elapsed = new Promise<void>(resolve => {
    timer = setTimeout(resolve, milliseconds)
  })
  return raceAbort(signal, elapsed).finally(() => clearTimeout(timer))
}
