import type { PluginContext } from '@svc/plugin-sdk'
import type { FileStorage } from './file-storage.ts'

/** Interval in milliseconds at which unused files are removed. */
const COLLECT_MS = 3_600_000

/** Delay of the first time, so that it does not slow down the start. */
const FIRST_MS = 60_000

/** Removes unused files while a program is served. */
export function collectFiles(ctx: Pick<PluginContext, 'background' | 'log'>, file: string, storage: FileStorage): void {
  ctx.background(`removal of unused files of ${file}`, signal => {
    return new Promise<void>(resolve => {
      let timer: NodeJS.Timeout | null = null
      let running: Promise<void> = Promise.resolve()
      const run = (): void => {
        running = storage
          .collect(Date.now())
          .then(removed => {
            if (removed > 0) ctx.log.info(`${removed} unused files of ${file} were removed`)
          })
          .catch((error: unknown) => ctx.log.warn(`the unused files of ${file} were not removed`, { error }))
        void running.then(() => {
          if (!signal.aborted) timer = setTimeout(run, COLLECT_MS)
        })
      }
      timer = setTimeout(run, FIRST_MS)
      const stop = (): void => {
        if (timer !== null) clearTimeout(timer)
        void running.then(() => resolve())
      }
      if (signal.aborted) stop()
      else signal.addEventListener('abort', stop, { once: true })
    })
  })
}
