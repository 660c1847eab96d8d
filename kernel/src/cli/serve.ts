import { adminErrors, reservedStdout } from '@svc/contracts'
import { closest, defined } from '@svc/plugin-sdk'
import type { PluginSource } from '../core/plugin-source.ts'
import { readCatalog } from '../host/catalog.ts'
import { collectWhenIdle } from '../host/collect-when-idle.ts'
import { openProject } from '../host/open-project.ts'
import { cliErrors } from './errors.ts'
import { EXIT } from './exit-codes.ts'
import { catalogChoices, type GlobalFlags, namesOf } from './flags.ts'
import { includeListeners, type Selection } from './include-listeners.ts'
import { interruptible } from './interrupt.ts'
import { refuseSecondServer } from './refuse-second-server.ts'

/**
 * Opens the project and serves until Ctrl-C or SIGTERM, then drains and closes it. A second signal ends the process
 * immediately; SIGHUP reloads the configuration. Throws `CLI_ARGUMENT_INVALID` if `only` names no plugin or none that
 * clients can reach, `KRN_PLUGIN_UNKNOWN` if it names an unknown plugin, and `CLI_ALREADY_SERVED` if another process is the
 * daemon of the project.
 */
export async function serve(
  flags: GlobalFlags,
  input: Readonly<Record<string, unknown>>,
  onServing: () => void = () => {}
): Promise<number> {
  const watch = input.watch as boolean | undefined
  // Standard output may carry a protocol, so output of plugins goes to standard error, like the log.
  reservedStdout()
  return interruptible(async signal => {
    const named = input.only === undefined ? undefined : givenNames(String(input.only))
    const catalog = await readCatalog(
      defined({
        cwd: flags.project ?? process.cwd(),
        env: process.env,
        preferSource: watch === true,
        spares: watch === false ? 0 : 2,
        only: named,
        ...catalogChoices(flags)
      })
    )
    const only = named && checkNames(named, catalog.found.sources)
    await refuseSecondServer(catalog, only)
    const project = await openProject(
      defined({
        catalog,
        ownsProcess: true,
        tolerant: flags.safe,
        only,
        watch,
        logLevel: flags.logLevel,
        logFormat: flags.json ? ('json' as const) : undefined
      })
    )
    const onHangup = (): void => void project.reconfigure()
    process.on('SIGHUP', onHangup)
    const stopWaiting = collectWhenIdle()
    try {
      const selection = selectionOf(only, project.catalog.peek.only)
      if (selection !== undefined) await includeListeners(project, selection)
      onServing()
      await Promise.race([ended(signal), project.ended])
      project.log.info('stopping; press Ctrl-C again to stop immediately')
      return EXIT.ok
    } finally {
      stopWaiting()
      process.off('SIGHUP', onHangup)
      await project.close()
    }
  })
}

/** Returns the names in the value of `--only`. Throws if there is none. */
function givenNames(only: string): string[] {
  const names = namesOf(only)
  if (names.length > 0) return names
  throw cliErrors.create('CLI_ARGUMENT_INVALID', `svc serve --only ${JSON.stringify(only)} names no plugin`, {
    hint: 'write names with commas, for example --only http,orchestrator; svc plugins list shows them'
  })
}

function selectionOf(only: readonly string[] | undefined, set: readonly string[] | undefined): Selection | undefined {
  if (only !== undefined) return { names: only, from: '--only' }
  return set === undefined ? undefined : { names: set, from: 'kernel.only' }
}

/** Returns `names`. Throws `KRN_PLUGIN_UNKNOWN` if one of them is no plugin. */
function checkNames(names: readonly string[], plugins: readonly PluginSource[]): readonly string[] {
  const known = plugins.map(plugin => plugin.name)
  const unknown = names.find(name => !known.includes(name))
  if (unknown === undefined) return names
  const near = closest(unknown, known)
  throw adminErrors.create('KRN_PLUGIN_UNKNOWN', `--only names ${unknown}, and no plugin of that name was discovered`, {
    hint: near === undefined ? 'svc plugins list shows the known plugins' : `did you mean ${near}?`
  })
}

function ended(signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
