import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'

const PACKAGES = ['bullmq@6.7.0', 'ioredis@6.0.0', 'pg@8.23.1', 'pg-boss@10.4.2', 'graphile-worker@0.17.3']

export interface Peers {
  load(name: string): any
  version(name: string): string
}

/** Installs packages, by default those of the task queues, into a folder, unless they are already installed. */
export function installPeers(folder: string, packages: readonly string[] = PACKAGES): Peers {
  mkdirSync(folder, { recursive: true })
  const nameOf = (specifier: string): string => specifier.slice(0, specifier.lastIndexOf('@'))
  if (!packages.every(each => existsSync(join(folder, 'node_modules', nameOf(each))))) {
    writeFileSync(join(folder, 'package.json'), '{ "private": true }')
    const args = ['install', '--no-audit', '--no-fund', '--loglevel=error', ...packages]
    const { status } = spawnSync('npm', args, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] })
    if (status !== 0) throw new Error('npm install failed')
  }
  const load = createRequire(join(folder, 'package.json'))
  const version = (name: string): string =>
    JSON.parse(readFileSync(join(folder, 'node_modules', name, 'package.json'), 'utf8')).version
  return { load, version }
}
