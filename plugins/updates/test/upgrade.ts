import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import type { CommandIo } from '@svc/plugin-sdk'
import { runUpgrade, Toolchain } from '#root'

const DEFAULTS = {
  provider: 'github',
  repo: 'acme/svc',
  channel: 'stable',
  gitlab_host: 'https://gitlab.com',
  github_api_url: 'https://api.github.com',
  home: '',
  keep_versions: 3,
  sidecar: true,
  cargo: 'cargo',
  timeout_ms: 5_000,
  max_download_bytes: 1_000_000,
  check_hours: 0
} as const

export interface Upgraded {
  readonly report: Record<string, any>
  readonly steps: readonly string[]
  readonly text: string
}

export interface UpgradeOptions {
  readonly json?: boolean
  readonly signal?: AbortSignal
  /** Version that runs; default 0.1.0. */
  readonly current?: string
  readonly onStep?: (step: string) => void
}

/** Runs `svc upgrade` in this process. */
export async function upgrade(
  home: string,
  settings: object,
  flags: object = {},
  { json = true, signal = new AbortController().signal, current = '0.1.0', onStep }: UpgradeOptions = {}
): Promise<Upgraded> {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()]
  const steps: string[] = []
  stderr.on('data', chunk => {
    for (const step of String(chunk).trim().split('\n')) {
      steps.push(step)
      onStep?.(step)
    }
  })
  const run = runUpgrade({
    settings: () => ({ ...DEFAULTS, ...settings }),
    toolchain: new Toolchain(home),
    current,
    log: { warn: () => {} }
  })
  const input = { apply: false, rollback: false, allow_prerelease: false, allow_breaking: false, source: 'release' }
  await run({ ...input, ...flags }, { stdout, stderr, stdin: new PassThrough(), json, signal } as unknown as CommandIo)
  const text = String(stdout.read())
  return { report: json ? JSON.parse(text).toolchain_upgrade : {}, steps, text }
}

/** Returns what the program of a toolchain prints for `--version`. */
export function versionIn(home: string): string {
  return execFileSync(process.execPath, [join(home, 'bin', 'svc'), '--version'], { encoding: 'utf8' }).trim()
}
