import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { Unavailable } from '../ledger.ts'
import { SVC } from '../svc-node.ts'
import type { Load, LoadContext } from './load.ts'
import { pause, repeat } from './load.ts'

const NAME = 'commands'
const MAX_TRIES = 3
const COMMANDS: readonly (readonly string[])[] = [
  ['orch', 'status'],
  ['plugins', 'list'],
  ['requests', '--failed'],
  ['logs', '--level', 'warn'],
  ['db', 'status'],
  ['mesh', 'nodes'],
  ['config', 'explain', 'plugins.http.port'],
  ['orch', 'tasks'],
  ['workflow', 'list'],
  ['search', 'query', 'the word of this note']
]

/** Runs commands, which print one JSON document. */
export function commandLine(context: LoadContext, everyMs: number): Load {
  return {
    name: NAME,
    run: () =>
      repeat(context, everyMs, (node, count) =>
        context.ledger.attempt(
          NAME,
          node.name,
          async () => {
            const argv = COMMANDS[count % COMMANDS.length] as readonly string[]
            const options = { cwd: node.folder, env: node.env, timeout: 120_000, maxBuffer: 50_000_000 }
            for (let tries = 1; ; tries++)
              try {
                JSON.parse((await promisify(execFile)(process.execPath, [SVC, ...argv, '--json'], options)).stdout)
                return
              } catch (error) {
                const { message, stdout, stderr } = error as Error & { stdout?: string; stderr?: string }
                const text = `svc ${argv.join(' ')}: ${stderr?.trim() || stdout?.trim() || message}`
                if (tries === MAX_TRIES) throw new Unavailable(text)
                // Some commands wait two seconds for a server, which may be short on a busy machine.
                await pause(5_000)
              }
          },
          argvNeedsNetwork(count) ? ['network'] : []
        )
      )
  }
}

function argvNeedsNetwork(count: number): boolean {
  return ['mesh', 'orch'].includes(COMMANDS[count % COMMANDS.length]?.[0] as string)
}
