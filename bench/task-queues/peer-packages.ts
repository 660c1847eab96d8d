import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'

const PACKAGES = ['bullmq@6.7.0', 'ioredis@6.0.0', 'pg@8.23.1', 'pg-boss@10.4.2', 'graphile-worker@0.17.3']

export interface Peers {
  load(name: string): any
  version(name: string): string
}

/** Installs the packages of the peers into a folder, unless they are already installed. */
export function installPeers(folder: string): Peers {
  mkdirSync(folder, { recursive: true })
  if (!existsSync(join(folder, 'node_modules', 'graphile-worker'))) {
    writeFileSync(join(folder, 'package.json'), '{ "private": true }')
    const args = ['install', '--no-audit', '--no-fund', '--loglevel=error', ...PACKAGES]
    const { status } = spawnSync('npm', args, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] })
    if (status !== 0) throw new Error('npm install failed')
  }
  const load = createRequire(join(folder, 'package.json'))
  const version = (name: string): string =>
    JSON.parse(readFileSync(join(folder, 'node_modules', name, 'package.json'), 'utf8')).version
  return { load, version }
}
