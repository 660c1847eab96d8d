import { readCatalog } from '../catalog.ts'
import { openProject } from '../project.ts'
import { EXIT } from './exit-codes.ts'
import { interruptible } from './interrupt.ts'
import type { GlobalFlags } from './main.ts'

export interface ServeFlags extends GlobalFlags {
  readonly only?: readonly string[]
  readonly watch?: boolean
}

/** Opens the project, serves until Ctrl-C or SIGTERM, drains, closes. SIGHUP reads the configuration again. */
export async function serve(flags: ServeFlags): Promise<number> {
  return interruptible(async signal => {
    const catalog = await readCatalog({
      cwd: flags.project ?? process.cwd(),
      env: process.env,
      set: flags.set,
      preferSource: flags.watch === true,
      ...(flags.profile === undefined ? {} : { profile: flags.profile })
    })
    const project = await openProject({
      catalog,
      ownsProcess: true,
      ...(flags.only === undefined ? {} : { only: flags.only }),
      ...(flags.watch === undefined ? {} : { watch: flags.watch }),
      ...(flags.logLevel === undefined ? {} : { logLevel: flags.logLevel }),
      ...(flags.json ? { logFormat: 'json' as const } : {})
    })
    const onHangup = (): void => void project.reconfigure()
    process.on('SIGHUP', onHangup)
    try {
      await Promise.race([ended(signal), project.ended])
      project.log.info('stopping; once more to stop at once')
      return EXIT.ok
    } finally {
      process.off('SIGHUP', onHangup)
      await project.close()
    }
  })
}

function ended(signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
