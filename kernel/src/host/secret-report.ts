import { execFile } from 'node:child_process'
import { statSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { isLiteral, isSecretAt, isTable, keyText, lookup, originOf, type Path, type ResolvedSection } from '@svc/config'
import {
  parseSecretReference,
  type SecretFile,
  type SecretReference,
  type SecretReport,
  type SecretsReport,
  secretBackend,
  secretsResolver
} from '@svc/contracts'
import { defined, errorMessage, settlesWithin } from '@svc/plugin-sdk'
import { secretLookup } from '../core/activate.ts'
import type { Kernel } from '../core/kernel.ts'
import type { ResolvedConfig } from './plugin-config.ts'

const RESOLVE_TIMEOUT_MS = 5_000
const GIT_TIMEOUT_MS = 3_000
/** Bits of a file's mode that let the group or other users read it. */
const READ_BY_OTHERS = 0o044

export interface SecretHost {
  readonly kernel: Kernel
  readonly config: ResolvedConfig
  readonly serves: boolean
  /** Starts plugins that a process for one command left out. */
  activate(plugins: readonly string[]): Promise<unknown>
}

/** A secret setting with a value, or without one. */
interface Use {
  readonly section: ResolvedSection
  /** Path within the section. */
  readonly path: Path
  readonly value: unknown
}

/** Resolves the secrets of all settings and checks the files that hold literal ones. Returns no secret. */
export async function secretsReport(host: SecretHost, signal?: AbortSignal): Promise<SecretsReport> {
  const uses = host.config.resolved.sections.flatMap(usesOf)
  const references = new Map(
    uses.flatMap(({ value }) => {
      const reference = typeof value === 'string' ? parseSecretReference(value) : null
      return reference === null ? [] : [[value as string, reference] as const]
    })
  )
  if (!host.serves) await startBackends([...references.values()], host)
  const outcomes = new Map(
    await Promise.all(
      [...references].map(async ([text, reference]) => [text, await problemOf(reference, host.kernel, signal)] as const)
    )
  )
  const paths = new Set(uses.flatMap(use => (isLiteral(use.value) ? (placeOf(use)?.file ?? []) : [])))
  const files = await Promise.all([...paths].map(path => fileOf(path, signal)))
  return {
    secrets: uses.map(use => report(use, outcomes, files)),
    files: files.filter(file => file !== undefined)
  }
}

/** Returns the secret settings of a section, and others that refer to a secret. */
function usesOf(section: ResolvedSection): Use[] {
  const secrets = section.declared.flatMap(({ secret, path }) => {
    if (!secret) return []
    const value = lookup(section.settings, path)
    const leaves = leavesOf(value, path).filter(leaf => isSecretAt(section.schema, leaf.path))
    return leaves.length === 0 ? [{ section, path, value: undefined }] : leaves.map(leaf => ({ section, ...leaf }))
  })
  const known = new Set(secrets.map(({ path }) => keyText(path)))
  const others = section.references.filter(({ path }) => !known.has(keyText(path)))
  return [
    ...secrets,
    ...others.map(({ path, reference: { backend, name } }) => ({ section, path, value: `secret://${backend}/${name}` }))
  ]
}

/** Returns the values inside tables and lists, with their paths. */
function leavesOf(value: unknown, path: Path): { readonly path: Path; readonly value: unknown }[] {
  if (value === undefined || value === '') return []
  if (Array.isArray(value)) return value.flatMap((item, index) => leavesOf(item, [...path, String(index)]))
  if (isTable(value)) return Object.entries(value).flatMap(([key, item]) => leavesOf(item, [...path, key]))
  return [{ path, value }]
}

function placeOf({
  section,
  path
}: Use): { readonly layer: string; readonly text: string; readonly file?: string } | undefined {
  const view = originOf(section.views, path)?.view
  return view === undefined ? undefined : { layer: view.layer, ...view.place(path) }
}

async function startBackends(references: readonly SecretReference[], host: SecretHost): Promise<void> {
  const tokens = new Set([...references.map(({ backend }) => secretBackend(backend).id), secretsResolver.id])
  const providers = [...host.kernel.records.values()].filter(
    ({ manifest, name }) =>
      references.length > 0 &&
      manifest?.provides.some(token => tokens.has(token)) === true &&
      !host.kernel.current.units.has(name) &&
      (host.config.plugins.get(name)?.enabled ?? manifest.enabledByDefault)
  )
  // A backend that does not start is reported by its secrets, which then are not resolved.
  for (const { name } of providers) await host.activate([name]).catch(() => {})
}

/** Resolves a secret and forgets it. Returns why this failed, or null. */
async function problemOf(reference: SecretReference, kernel: Kernel, signal?: AbortSignal): Promise<string | null> {
  const { services } = kernel.current
  const token = secretBackend(reference.backend).id
  if (!services.has(token) && !services.has(secretsResolver.id)) return `no active plugin provides ${token}`
  try {
    const secret = secretLookup(services)(reference)
    if (!(await settlesWithin(RESOLVE_TIMEOUT_MS, secret, signal))) return `no answer within ${RESOLVE_TIMEOUT_MS} ms`
    const value = await secret
    kernel.log.secrets.add(value)
    return value === '' ? 'the secret is empty' : null
  } catch (error) {
    return kernel.mask(errorMessage(error))
  }
}

function report(
  use: Use,
  outcomes: ReadonlyMap<string, string | null>,
  files: readonly (SecretFile | undefined)[]
): SecretReport {
  const { section, path, value } = use
  const place = placeOf(use)
  const reference = typeof value === 'string' ? parseSecretReference(value) : null
  const text = reference === null ? null : (value as string)
  const problem = text === null ? null : (outcomes.get(text) ?? null)
  const kind = reference !== null ? 'reference' : isLiteral(value) ? 'literal' : 'unset'
  const file = files.find(each => each !== undefined && each.path === place?.file)
  return {
    key: keyText([...section.prefix, ...path]),
    plugin: section.owner,
    kind,
    reference: text,
    backend: reference?.backend ?? null,
    resolved: text === null ? null : problem === null,
    problem,
    layer: kind === 'unset' ? 'default' : (place?.layer ?? 'default'),
    place: kind === 'unset' ? null : (place?.text ?? null),
    warnings: kind === 'literal' ? warningsOf(place?.layer, place?.text, file) : []
  }
}

function warningsOf(layer: string | undefined, place: string | undefined, file: SecretFile | undefined): string[] {
  if (layer === 'set') return ['the value is on the command line, which other users of this machine can read']
  if (file === undefined) return []
  return [
    `${place} holds the value; write a reference such as "secret://env/NAME" instead`,
    ...(file.shared ? [`other users may read ${file.path} (mode ${file.mode}); run: chmod 600 ${file.path}`] : []),
    ...(file.tracked === true ? [`git tracks ${file.path}; remove the value and replace the secret by a new one`] : [])
  ]
}

async function fileOf(path: string, signal?: AbortSignal): Promise<SecretFile | undefined> {
  const mode = statSync(path, { throwIfNoEntry: false })?.mode
  if (mode === undefined) return undefined
  return {
    path,
    mode: (mode & 0o777).toString(8).padStart(4, '0'),
    shared: process.platform !== 'win32' && (mode & READ_BY_OTHERS) !== 0,
    tracked: await isTracked(path, signal)
  }
}

/** Returns whether git tracks a file; null without git or a repository. Hooks of the repository do not run. */
function isTracked(path: string, signal?: AbortSignal): Promise<boolean | null> {
  const args = ['-c', 'core.fsmonitor=false', 'ls-files', '--error-unmatch', '--', basename(path)]
  const options = {
    cwd: dirname(path),
    timeout: GIT_TIMEOUT_MS,
    env: { ...process.env, GIT_OPTIONAL_LOCKS: '0', LC_ALL: 'C' },
    ...defined({ signal })
  }
  return new Promise(resolve => {
    execFile('git', args, options, (error, _stdout, stderr) => {
      if (error === null) resolve(true)
      else resolve(error.code === 1 && stderr.includes('did not match') ? false : null)
    })
  })
}
