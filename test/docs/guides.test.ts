import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import t, { type Test } from 'tap'
import { SVC_BIN } from '../e2e/served-project.ts'
import { freePort } from '../free-port.ts'
import { ROOT } from './error-codes.ts'

const GUIDES = ['app', 'failed-request', 'from-temporal', 'two-subsystems']
/** Ports that the guides use, and the variable that sets each. */
const PORTS: Readonly<Record<string, (port: number) => Record<string, string>>> = {
  3000: port => ({ SVC_PORT: `${port}` }),
  3847: port => ({ SVC_DASH_PORT: `${port}` }),
  9745: port => ({ SVC_ORCHESTRATOR_DAEMON_SOCKET: `127.0.0.1:${port}` })
}

/** Block of a guide that a comment before it marks: `run`, `serve` or `file: PATH`. */
interface Step {
  readonly kind: 'run' | 'serve' | 'file'
  readonly path: string
  readonly code: string
  readonly line: number
}

interface Command {
  readonly command: string
  readonly expected: string
}

for (const name of GUIDES) {
  t.test(`the commands of docs/guides/${name}.md print what it shows`, async t => {
    const steps = stepsOf(readFileSync(join(ROOT, 'docs/guides', `${name}.md`), 'utf8'))
    t.not(steps.filter(({ kind }) => kind === 'run').length, 0)
    const guide = await openGuide(t)
    for (const { kind, path, code, line } of steps) {
      if (kind === 'file') {
        mkdirSync(dirname(join(guide.folder, path)), { recursive: true })
        writeFileSync(join(guide.folder, path), `${guide.withFreePorts(code)}\n`)
        continue
      }
      for (const { command, expected } of commandsOf(code)) {
        if (kind === 'serve') {
          await guide.serve(command)
          continue
        }
        const output = await guide.run(command)
        t.match(normal(output), patternOf(expected), `${name}.md:${line}: ${command}`)
      }
    }
  })
}

/** Opens an empty folder with an empty home, in which a guide runs on free ports. */
async function openGuide(t: Test) {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'svc-guide-')))
  const [folder, home, bin, state] = ['work', 'home', 'bin', 'state'].map(name => join(base, name)) as [
    string,
    string,
    string,
    string
  ]
  for (const path of [folder, home, bin, state]) mkdirSync(path)
  // No variable sets the port of the model server.
  mkdirSync(join(home, '.config', 'svc'), { recursive: true })
  writeFileSync(join(home, '.config', 'svc', 'svc.toml'), '[plugins.model-server]\nport = 0\n')
  writeFileSync(join(bin, 'svc'), `#!/bin/sh\nexec '${process.execPath}' '${SVC_BIN}' "$@"\n`, { mode: 0o755 })
  writeFileSync(join(state, 'variables'), '')
  writeFileSync(join(state, 'folder'), folder)
  const env: Record<string, string> = {
    PATH: `${bin}${delimiter}${process.env.PATH}`,
    HOME: home,
    NO_COLOR: '1'
  }
  const ports = new Map<string, number>()
  for (const [port, variables] of Object.entries(PORTS)) {
    const free = await freePort()
    ports.set(port, free)
    Object.assign(env, variables(free))
  }
  const withFreePorts = (text: string): string =>
    text.replaceAll(/(?<=(?:localhost|127\.0\.0\.1):)\d+/g, port => `${ports.get(port) ?? port}`)
  /** Starts a command in the folder and with the variables that the previous one left. */
  const start = (command: string, after = ''): ChildProcess => {
    const script = `cd "$(cat ${state}/folder)"; set -a; . ${state}/variables; ${withFreePorts(command)}\n${after}`
    return spawn('bash', ['-c', script], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  }
  let server: ChildProcess | undefined
  const stop = async (): Promise<void> => {
    if (server === undefined || server.exitCode !== null || server.signalCode !== null) return
    server.kill('SIGTERM')
    await once(server, 'exit')
  }
  t.teardown(async () => {
    await stop()
    rmSync(base, { recursive: true, force: true, maxRetries: 5 })
  })
  return {
    folder,
    withFreePorts,
    async run(command: string): Promise<string> {
      const keep = `declare -p ID TOKEN > ${state}/variables 2> /dev/null; pwd > ${state}/folder`
      const child = start(`exec 2>&1; ${command}`, keep)
      let output = ''
      for (const stream of [child.stdout, child.stderr]) stream?.on('data', data => (output += data))
      await once(child, 'close')
      return output
    },
    /** Runs a server until the guide ends or starts another one. Resolves once it serves. */
    async serve(command: string): Promise<void> {
      await stop()
      const child = start(`exec ${command}`)
      server = child
      const lines: string[] = []
      child.stdout?.resume()
      for await (const line of createInterface({ input: child.stderr as NodeJS.ReadableStream })) {
        lines.push(line)
        if (line.includes('"generation 1"')) {
          child.stderr?.resume()
          return
        }
      }
      throw new Error(`${command} ended:\n${lines.join('\n')}`)
    }
  }
}

function stepsOf(text: string): Step[] {
  const steps: Step[] = []
  const marked =
    /<!-- (run|serve|file): ?([^\n]*?) ?-->\n\n```\w+\n(.*?)^```$|<!-- (run|serve) -->\n\n```console\n(.*?)^```$/gms
  for (const match of text.matchAll(marked)) {
    const [, file, path = '', content, kind, commands] = match
    const line = text.slice(0, match.index).split('\n').length
    steps.push({ kind: (file ?? kind) as Step['kind'], path, code: (content ?? commands ?? '').trimEnd(), line })
  }
  return steps
}

/** Splits a transcript: a line that begins with `$ ` is a command, and the lines after it are its output. */
function commandsOf(code: string): Command[] {
  return code
    .split(/^\$ /m)
    .filter(part => part !== '')
    .map(part => {
      const [command = '', ...expected] = part.split('\n')
      return { command, expected: expected.join('\n').trim() }
    })
}

/** Replaces what differs between two runs: times, ids, numbers, the width of columns and bars. Omits warnings. */
function normal(output: string): string {
  return output
    .replaceAll(/^warning: .*\n?/gm, '')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
    .replaceAll(/[\da-f]{8}-[\da-f]{4}-[\da-f-]+|\b(?=[a-f]*\d)[\da-f]{12,}\b/g, 'ID')
    .replaceAll(/\d+(?:\.\d+)?/g, 'N')
    .replaceAll(/\|[ =]+\|/g, '|=|')
    .replaceAll(/ +/g, ' ')
    .trim()
}

/** Returns a pattern for a shown output. An ellipsis stands for any text. */
function patternOf(expected: string): RegExp {
  if (expected === '') return /^/
  const parts = normal(expected)
    .split('…')
    .map(part => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`^${parts.join('[^]*')}$`)
}
