import { execFileSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

export interface Installation {
  /** Folder with `node_modules`; projects are created below it. */
  readonly root: string
  /** Path of the installed program. */
  readonly svc: string
  /** Packs the package in a folder; returns the path of the tarball. */
  pack(folder: string): string
  /** Creates an empty project that can resolve the installation. */
  project(name: string): string
  /** Runs npm in a folder, offline; returns its standard output. */
  npm(folder: string, ...argv: string[]): string
}

/**
 * Installs packages of this repository from their tarballs into a separate folder. Their dependencies are linked, so
 * that no registry is needed.
 */
export function installSvc(t: Test, packages: Readonly<Record<string, string>>): Installation {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'svc-installed-')))
  t.teardown(() => rmSync(root, { recursive: true, force: true }))
  const modules = join(root, 'node_modules')
  mkdirSync(join(modules, '.bin'), { recursive: true })
  for (const name of readdirSync(join(ROOT, 'node_modules'))) {
    if (!name.startsWith('.') && name !== '@svc') symlinkSync(join(ROOT, 'node_modules', name), join(modules, name))
  }
  const npm = (folder: string, ...argv: string[]): string =>
    execFileSync('npm', [...argv, '--offline', '--no-audit', '--no-fund', '--no-update-notifier'], {
      cwd: folder,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      // The tests themselves run under npm, whose variables must not reach this npm.
      env: { ...withoutNpm(process.env), NODE_OPTIONS: '', NO_COLOR: '1' }
    })
  /** Packs several folders with one npm process; returns the paths of the tarballs. */
  const packAll = (folder: string, packed: readonly string[]): string[] => {
    const argv = ['--json', '--silent', '--foreground-scripts=false', '--pack-destination', root]
    const report = JSON.parse(npm(folder, 'pack', ...packed, ...argv)) as { filename: string }[]
    return report.map(({ filename }) => join(root, filename.replace('@', '').replace('/', '-')))
  }
  const folders = Object.values(packages)
  const tarballs = packAll(
    ROOT,
    folders.map(folder => `./${folder}`)
  )
  for (const [index, name] of Object.keys(packages).entries()) {
    const place = join(modules, ...name.split('/'))
    mkdirSync(place, { recursive: true })
    execFileSync('tar', ['-xzf', tarballs[index]!, '-C', place, '--strip-components=1'])
    const nested = join(ROOT, folders[index]!, 'node_modules')
    if (existsSync(nested)) symlinkSync(nested, join(place, 'node_modules'))
  }
  const svc = join(modules, '@svc', 'kernel', 'bin', 'svc.cjs')
  symlinkSync(svc, join(modules, '.bin', 'svc'))
  symlinkSync(join(modules, 'typescript', 'bin', 'tsc'), join(modules, '.bin', 'tsc'))
  return {
    root,
    svc,
    pack: folder => packAll(folder, [])[0]!,
    npm,
    project(name) {
      const folder = join(root, name)
      mkdirSync(folder)
      writeFileSync(join(folder, 'package.json'), JSON.stringify({ name, private: true }))
      writeFileSync(join(folder, 'svc.toml'), '')
      return folder
    }
  }
}

function withoutNpm(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('npm_')))
}
