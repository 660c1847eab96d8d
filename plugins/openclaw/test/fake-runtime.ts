import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export interface FakeRuntime {
  readonly folder: string
  readonly program: string
  /** Arguments of the runs. */
  runs(): readonly (readonly string[])[]
  /** Names of killed containers. */
  kills(): readonly string[]
}

/**
 * Writes a container runtime to a folder: it runs the command as a process of this machine, with the requested variables
 * only, and ends it on `kill`. It restricts nothing.
 */
export function fakeRuntime(root: string, { isDown = false }: { isDown?: boolean } = {}): FakeRuntime {
  const folder = join(root, 'runtime')
  mkdirSync(folder, { recursive: true })
  const program = join(folder, 'docker')
  const log = join(folder, 'log.jsonl')
  const script = join(folder, 'docker.cjs')
  writeFileSync(program, `#!/bin/sh\nexec ${JSON.stringify(process.execPath)} ${JSON.stringify(script)} "$@"\n`)
  writeFileSync(
    script,
    `const { appendFileSync, readFileSync, writeFileSync } = require('node:fs')
const { spawn } = require('node:child_process')
const [verb, ...args] = process.argv.slice(2)
const folder = ${JSON.stringify(folder)}
appendFileSync(${JSON.stringify(log)}, JSON.stringify([verb, ...args]) + '\\n')
if (verb === 'info') process.exit(${isDown ? 1 : 0})
if (verb === 'kill') {
  process.kill(-Number(readFileSync(folder + '/' + args[0], 'utf8')), 'SIGKILL')
  process.exit(0)
}
const at = args.findIndex(each => !each.startsWith('--'))
const value = name => args.find(each => each.startsWith('--' + name + '='))?.slice(name.length + 3)
if (args[at] === 'missing') {
  console.error('no such image: missing')
  process.exit(125)
}
const names = args.filter(each => each.startsWith('--env=')).map(each => each.slice(6))
const env = Object.fromEntries([['PATH', process.env.PATH], ...names.map(each => [each, process.env[each]])])
const [command, ...rest] = args.slice(at + 1)
const child = spawn(command, rest, { env, stdio: 'inherit', detached: true })
writeFileSync(folder + '/' + value('name'), String(child.pid))
child.on('close', (code, signal) => process.exit(signal === null ? code : 137))
`
  )
  chmodSync(program, 0o755)
  const lines = (): string[][] =>
    existsSync(log)
      ? readFileSync(log, 'utf8')
          .split('\n')
          // The last line may be incomplete while the runtime writes it.
          .slice(0, -1)
          .map(line => JSON.parse(line))
      : []
  return {
    folder,
    program,
    runs: () => lines().flatMap(([verb, ...args]) => (verb === 'run' ? [args] : [])),
    kills: () => lines().flatMap(([verb, name = '']) => (verb === 'kill' ? [name] : []))
  }
}
