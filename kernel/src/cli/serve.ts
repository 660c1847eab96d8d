import { adminErrors, httpListeners, httpServer, reservedStdout } from '@svc/contracts'
import type { PluginManifest } from '@svc/plugin-sdk'
import { closest, defined } from '@svc/plugin-sdk'
import type { PluginSource } from '../core/plugin-source.ts'
import { readCatalog } from '../host/catalog.ts'
import { openProject } from '../host/open-project.ts'
import type { Project } from '../host/project.ts'
import { EXIT } from './exit-codes.ts'
import { catalogChoices, type GlobalFlags, namesOf } from './flags.ts'
import { interruptible } from './interrupt.ts'
import { refuseSecondServer } from './refuse-second-server.ts'

/**
 * Opens the project and serves until Ctrl-C or SIGTERM, then drains and closes it. A second signal ends the process
 * immediately; SIGHUP reloads the configuration. Throws `KRN_PLUGIN_UNKNOWN` if `only` names an unknown plugin, and
 * `CLI_ALREADY_SERVED` if another process is the daemon of the project.
 */
export async function serve(flags: GlobalFlags, input: Readonly<Record<string, unknown>>): Promise<number> {
  const watch = input.watch as boolean | undefined
  // Standard output may carry a protocol, so output of plugins goes to standard error, like the log.
  reservedStdout()
  return interruptible(async signal => {
    const named = input.only === undefined ? undefined : namesOf(String(input.only))
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
    if (only !== undefined) await includeListeners(project)
    const onHangup = (): void => void project.reconfigure()
    process.on('SIGHUP', onHangup)
    try {
      await Promise.race([ended(signal), project.ended])
      project.log.info('stopping; press Ctrl-C again to stop immediately')
      return EXIT.ok
    } finally {
      process.off('SIGHUP', onHangup)
      await project.close()
    }
  })
}

/** Activates the plugin that opens the listeners of the selected plugins. Without it they could not be reached. */
async function includeListeners(project: Project): Promise<void> {
  const { units } = project.kernel.current
  const listening = [...units.values()].filter(unit => unit.items.some(({ point }) => point === httpListeners.id))
  const opens = ({ provides }: PluginManifest): boolean => provides.includes(httpServer.id)
  const [listener] = listening
  if (listener === undefined || [...units.values()].some(({ manifest }) => opens(manifest))) return
  const opener = [...project.kernel.records.values()].find(({ manifest }) => manifest !== null && opens(manifest))
  if (opener === undefined)
    throw adminErrors.create('KRN_PLUGIN_UNKNOWN', `${listener.name} cannot be reached: no plugin opens its listener`, {
      hint: 'install the plugin http'
    })
  await project.admin.apply({ activate: [opener.name] })
  project.log.info(`${opener.name} runs too, because it opens the listener of ${listener.name}`)
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
