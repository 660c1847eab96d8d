import { setTimeout } from 'node:timers/promises'
import { adminErrors, httpHandlers, httpListeners, httpRoutes, httpServer, httpUpgrades } from '@svc/contracts'
import type { PluginManifest } from '@svc/plugin-sdk'
import type { Unit } from '../core/unit.ts'
import type { Project } from '../host/project/project.ts'
import { cliErrors } from './errors.ts'

/** A selection of plugins, with the flag or setting that makes it. */
export interface Selection {
  readonly names: readonly string[]
  readonly from: '--only' | 'kernel.only'
}

/** Time for a server that `activate` opened without waiting until it listens. */
const LISTEN_MS = 250
const ROUTES: ReadonlySet<string> = new Set([httpRoutes.id, httpHandlers.id, httpUpgrades.id])

/**
 * Activates the plugin that opens listeners if the selected plugins need it to be reachable. Throws
 * `CLI_ARGUMENT_INVALID` if clients can reach none of them in any other way.
 */
export async function includeListeners(project: Project, selection: Selection): Promise<void> {
  const { kernel } = project
  const running = (): Unit[] => [...kernel.current.units.values()]
  const opens = ({ provides }: PluginManifest): boolean => provides.includes(httpServer.id)
  if (running().some(({ manifest }) => opens(manifest))) return
  const opener = [...kernel.records.values()].find(({ manifest }) => manifest !== null && opens(manifest))
  const listener = running().find(unit => contributes(unit, point => point === httpListeners.id))
  if (listener !== undefined) {
    if (opener === undefined) throw withoutOpener(listener.name)
    await include(project, opener.name, `it opens the listener of ${listener.name}`, selection)
    return
  }
  if (running().some(mayListen) || hasServers()) return
  const routed = running().filter(hasRoutes)
  const served =
    routed.find(({ name }) => selection.names.includes(name)) ?? routed[0] ?? failedWithRoutes(project, selection)
  if (served !== undefined && opener !== undefined)
    return include(project, opener.name, `it serves the routes of ${served.name}`, selection)
  // A plugin that failed may listen once it is fixed.
  if (selection.names.some(name => !kernel.current.units.has(name))) return
  await setTimeout(LISTEN_MS)
  if (hasServers()) return
  throw unreachable(project, selection)
}

async function include(project: Project, opener: string, reason: string, selection: Selection): Promise<void> {
  await project.admin.apply({ activate: [opener] })
  if (!project.kernel.current.units.has(opener)) throw unreachable(project, selection)
  project.log.info(`${opener} runs too, because ${reason}`)
}

function contributes(unit: Unit, isWanted: (point: string) => boolean): boolean {
  return unit.items.some(({ point }) => isWanted(point))
}

function hasRoutes(unit: Unit): boolean {
  return contributes(unit, point => ROUTES.has(point)) || hasExposures(unit.manifest)
}

function hasExposures({ operations }: PluginManifest): boolean {
  return operations.some(({ expose }) => expose.http !== undefined)
}

/** Returns a selected plugin that does not run and whose operations have HTTP routes. */
function failedWithRoutes({ kernel }: Project, { names }: Selection): { readonly name: string } | undefined {
  const failed = names.flatMap(name => (kernel.current.units.has(name) ? [] : (kernel.records.get(name) ?? [])))
  return failed.find(({ manifest }) => manifest !== null && hasExposures(manifest))
}

/** True for a plugin that declares that it opens ports, and for an isolated one, whose ports are not known. */
function mayListen({ manifest, kill }: Unit): boolean {
  return manifest.serves === true || kill !== null
}

/** True if this process listens on a socket: plugins may open servers without declaring it. */
function hasServers(): boolean {
  return process.getActiveResourcesInfo().some(each => /ServerWrap$|^UDPWrap$/.test(each))
}

function unreachable({ kernel }: Project, { names, from }: Selection): Error {
  const listening = [...kernel.records.values()].filter(({ manifest }) => manifest?.serves === true)
  const others = listening.map(({ name }) => name).sort()
  const exposing = exposingPlugin(kernel, names)
  const given = [...names, ...(exposing === undefined ? [] : [exposing])].join(',')
  const first = exposing === undefined ? 'add' : `add ${exposing}, whose commands and methods use it, and`
  const list =
    others.length === 0 ? 'install a plugin that listens, such as http' : `${first} one of ${others.join(', ')}`
  const example = others[0] === undefined ? '' : `: ${from}${from === '--only' ? ' ' : ' = '}${given},${others[0]}`
  const subject = names.length === 0 ? `${from} is empty` : `clients cannot reach ${names.join(',')}`
  return cliErrors.create('CLI_ARGUMENT_INVALID', `${subject}: no selected plugin listens`, {
    hint: `${list}${example}`
  })
}

/**
 * Returns the plugin with the most operations for clients among those that use a selected plugin. Undefined if a
 * selected plugin has such operations itself.
 */
function exposingPlugin({ records }: Project['kernel'], names: readonly string[]): string | undefined {
  const manifests = [...records.values()].flatMap(({ manifest }) => manifest ?? [])
  const exposed = ({ operations }: PluginManifest): number =>
    operations.filter(({ expose }) => Object.keys(expose).length > 0).length
  const selected = manifests.filter(({ name }) => names.includes(name))
  if (selected.some(each => exposed(each) > 0)) return undefined
  const provided = new Set(selected.flatMap(({ provides }) => provides))
  return manifests
    .filter(each => !names.includes(each.name) && exposed(each) > 0 && each.requires.some(id => provided.has(id)))
    .sort((a, b) => exposed(b) - exposed(a))[0]?.name
}

function withoutOpener(name: string): Error {
  return adminErrors.create('KRN_PLUGIN_UNKNOWN', `${name} cannot be reached: no plugin opens its listener`, {
    hint: 'install the plugin http'
  })
}
