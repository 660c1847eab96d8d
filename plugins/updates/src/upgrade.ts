import { existsSync, realpathSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { type CommandHandler, type CommandIo, defined, type Infer, type Logger } from '@svc/plugin-sdk'
import { type Found, search, writeLastCheck } from './check.ts'
import { chooseAssets, isNewer } from './choose.ts'
import type { upgradeInput } from './command.ts'
import { updateErrors } from './errors.ts'
import { clearFailure, recordFailure } from './failure.ts'
import { install, rollBack } from './install.ts'
import type { Settings } from './settings.ts'
import { reportSource, rollBackSource, type SourceOptions, updateSource } from './source-mode.ts'
import { targetTriple } from './target.ts'
import type { Toolchain } from './toolchain.ts'

type Input = Infer<typeof upgradeInput>

/** Result of the command, as `--json` prints it. */
interface Report {
  readonly status: 'up_to_date' | 'available' | 'breaking' | 'installed' | 'rolled_back'
  readonly current_version: string
  readonly installed_version: string | null
  readonly asset: string | null
  readonly target_triple: string | null
  readonly source: string
  readonly manifest_graph_touched: false
  readonly available_version: string | null
}

interface Outcome {
  readonly report: Omit<Report, 'manifest_graph_touched' | 'current_version' | 'target_triple'>
  /** Lines for a person. */
  readonly lines: readonly string[]
}

export interface UpgradeServices {
  readonly settings: () => Settings
  readonly toolchain: Toolchain
  readonly current: string
  readonly log: Pick<Logger, 'warn'>
}

export function runUpgrade(services: UpgradeServices): CommandHandler {
  return async (given, io) => {
    const options = given as unknown as Input
    refuseConflicts(options)
    const { report, lines } = await attempted(services, options, io)
    const toolchain_upgrade: Report = {
      ...report,
      current_version: services.current,
      target_triple: targetTriple(),
      manifest_graph_touched: false
    }
    io.stdout.write(io.json ? `${JSON.stringify({ toolchain_upgrade })}\n` : `${lines.join('\n')}\n`)
    return 0
  }
}

/** Does what the options request. A failed change is stored for the console, until one succeeds. */
async function attempted(services: UpgradeServices, options: Input, io: CommandIo): Promise<Outcome> {
  const { home } = services.toolchain
  const run = options.source === 'repo' ? sourceMode : releaseMode
  if (!options.apply && !options.rollback) return await run(services, options, io)
  try {
    const outcome = await run(services, options, io)
    await clearFailure(home)
    return outcome
  } catch (error) {
    if (!io.signal.aborted) await recordFailure(home, options.apply ? 'install' : 'rollback', error)
    throw error
  }
}

/** Throws `UPD_OPTIONS` for options that would have no effect. */
function refuseConflicts({ source, apply, rollback, allow_prerelease, allow_breaking, ...rest }: Input): void {
  const { ref, repo_root, version, channel, provider, repo, base_url } = rest
  const given = (options: Readonly<Record<string, unknown>>): string[] =>
    Object.entries(options).flatMap(([name, value]) => (value === undefined || value === false ? [] : [`--${name}`]))
  const ofRelease = given({
    version,
    channel,
    'allow-prerelease': allow_prerelease,
    'allow-breaking': allow_breaking,
    provider,
    repo,
    'base-url': base_url
  })
  const refuse = (problem: string, hint: string) => updateErrors.create('UPD_OPTIONS', problem, { hint })
  const ofSource = given({ ref, 'repo-root': repo_root })
  if (source === 'release' && ofSource.length > 0)
    throw refuse(`${ofSource.join(' and ')} needs --source repo`, 'add --source repo')
  if (source === 'repo' && ofRelease.length > 0)
    throw refuse(`${ofRelease.join(' and ')} is not for --source repo`, 'use --ref for a branch, tag or commit')
  const ofInstallation = [...given({ apply, ref }), ...ofRelease]
  if (rollback && ofInstallation.length > 0)
    throw refuse(`--rollback does not go with ${ofInstallation.join(' and ')}`, 'run svc upgrade --rollback')
}

async function releaseMode(services: UpgradeServices, options: Input, io: CommandIo): Promise<Outcome> {
  const { settings, toolchain, current } = services
  if (options.rollback) return rollBackRelease(toolchain)
  const { apply, allow_breaking, allow_prerelease, provider, repo, base_url, version, channel } = options
  const used = settings()
  refuseAddress(provider ?? used.provider, options)
  refusePrereleases(version ?? used.version, options)
  const choice = { allow_prerelease, ...defined({ provider, repo, base_url, version, channel }) }
  const found = await search(used, choice, current, io.signal)
  const { source, release, newer, breaking } = found
  if (Object.keys(choice).length === 1 && !allow_prerelease) await remember(toolchain, found)
  const pinned = (version ?? used.version) !== undefined
  const installed = await toolchain.current()
  const outcome = (status: Report['status'], asset: string | undefined, lines: readonly string[]): Outcome => ({
    report: {
      status,
      installed_version: installed?.version ?? null,
      asset: asset ?? null,
      source: source.description,
      available_version: release.version
    },
    lines
  })
  if (installed?.version === release.version) {
    const lines = [`svc ${release.version} is installed; this is svc ${current}`, ...usage(toolchain)]
    return outcome('up_to_date', installed.asset, lines)
  }
  const wanted = apply
    ? pinned || isNewer(release.version, installed?.version ?? current) || release.version === current
    : (pinned && release.version !== current) || newer
  if (!wanted)
    return outcome('up_to_date', installed?.asset, [`svc ${current} is the newest version of ${source.description}`])
  const { archives, checksums } = chooseAssets(source, release, targetTriple())
  if (breaking && !allow_breaking) {
    if (apply)
      throw updateErrors.create('UPD_BREAKING', `svc ${release.version} has another major version than ${current}`, {
        data: { current_version: current, available_version: release.version },
        hint: 'read its release notes, then add --allow-breaking'
      })
    return outcome('breaking', archives[0]?.name, [
      `svc ${release.version} is available, with another major version than svc ${current}`,
      'install it with: svc upgrade --apply --allow-breaking'
    ])
  }
  if (!apply)
    return outcome('available', archives[0]?.name, [
      `svc ${release.version} is available; this is svc ${current}`,
      'install it with: svc upgrade --apply'
    ])
  const done = await install({
    toolchain,
    source,
    release,
    archives,
    checksums,
    publicKey: used.public_key ?? null,
    triple: targetTriple(),
    sidecar: used.sidecar,
    keepVersions: used.keep_versions,
    maxBytes: used.max_download_bytes,
    timeoutMs: used.timeout_ms,
    log: services.log,
    onStep: step => io.stderr.write(`${step}\n`),
    signal: io.signal
  })
  const { report, lines } = outcome('installed', done.asset, [`installed svc ${done.version}`, ...usage(toolchain)])
  return { report: { ...report, installed_version: done.version }, lines }
}

/** Throws `UPD_OPTIONS` for an address that the provider does not use. */
function refuseAddress(provider: Settings['provider'], { repo, base_url }: Input): void {
  const unused = provider === 'http' ? { '--repo': repo } : { '--base-url': base_url }
  for (const [name, value] of Object.entries(unused))
    if (value !== undefined)
      throw updateErrors.create('UPD_OPTIONS', `${name} does not go with the provider ${provider}`, {
        hint: 'name the provider with --provider: --base-url is for http, --repo for github and gitlab'
      })
}

/** Throws `UPD_OPTIONS` for options that choose among releases although a tag names one. */
function refusePrereleases(tag: string | undefined, { channel, allow_prerelease, version }: Input): void {
  if (tag === undefined) return
  const unused = channel !== undefined ? '--channel' : allow_prerelease ? '--allow-prerelease' : null
  if (unused !== null)
    throw updateErrors.create('UPD_OPTIONS', `${unused} has no effect, since the release ${tag} is named`, {
      hint: version === undefined ? 'remove plugins.updates.version (SVC_UPGRADE_VERSION)' : 'leave one of the two out'
    })
}

async function rollBackRelease(toolchain: Toolchain): Promise<Outcome> {
  const { from, to } = await rollBack(toolchain)
  return {
    report: {
      status: 'rolled_back',
      installed_version: to.version,
      asset: to.asset,
      source: toolchain.home,
      available_version: null
    },
    lines: [`went back from svc ${from?.version ?? 'of no version'} to svc ${to.version}`, ...usage(toolchain)]
  }
}

/** Stores what was found for the console. The command does not fail if it cannot. */
async function remember(toolchain: Toolchain, { source, release: { tag, version } }: Found): Promise<void> {
  const check = { checked_at: Date.now(), source: source.description, tag, version }
  await writeLastCheck(toolchain.home, check).catch(() => {})
}

function usage(toolchain: Toolchain): string[] {
  const lines = ['running servers use it after a restart']
  return onPath(toolchain) ? lines : [...lines, `run it as ${toolchain.program}, or put that folder first in PATH`]
}

/** Whether `svc` in the shell is the program of the toolchain. */
function onPath({ program }: Toolchain): boolean {
  const first = (process.env.PATH ?? '').split(':').find(folder => folder !== '' && existsSync(join(folder, 'svc')))
  return first !== undefined && resolve(first, 'svc') === program
}

async function sourceMode({ settings, current }: UpgradeServices, options: Input, io: CommandIo): Promise<Outcome> {
  const { apply, rollback, ref, repo_root } = options
  const root = repo_root === undefined ? ownCheckout() : resolve(repo_root)
  const source: SourceOptions = {
    root,
    ref,
    cargo: settings().cargo,
    onStep: step => io.stderr.write(`${step}\n`),
    signal: io.signal
  }
  const run = rollback ? rollBackSource : apply ? updateSource : reportSource
  const { before, after } = await run(source)
  const status = before === after ? 'up_to_date' : rollback ? 'rolled_back' : apply ? 'installed' : 'available'
  const [from, to] = [before.slice(0, 12), after.slice(0, 12)]
  const lines = {
    up_to_date: `${root} is up to date at ${from}`,
    available: `${root} is at ${from}; ${to} is available. Install it with: svc upgrade --source repo --apply`,
    installed: `updated ${root} from ${from} to ${to}`,
    rolled_back: `went back from ${from} to ${to} in ${root}`
  }
  return {
    report: {
      status,
      installed_version: apply || rollback ? after : before,
      asset: null,
      source: `repo:${root}`,
      available_version: rollback ? null : after
    },
    lines: [lines[status], ...(status === 'up_to_date' ? [] : [`svc ${current} runs until its next start`])].slice(
      0,
      apply || rollback ? 2 : 1
    )
  }
}

/** Returns the git checkout that the running program belongs to. Throws `UPD_OPTIONS`. */
function ownCheckout(): string {
  const program = process.argv[1]
  for (let folder = program === undefined ? '/' : dirname(realpathSync(program)); ; folder = dirname(folder)) {
    if (existsSync(join(folder, '.git'))) return folder
    if (folder === dirname(folder))
      throw updateErrors.create('UPD_OPTIONS', 'this program does not run from a git checkout', {
        hint: 'name the checkout with --repo-root'
      })
  }
}
