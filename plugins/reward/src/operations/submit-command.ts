import { readFile, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { type CommandDescriptor, type CommandHandler, type PluginContext, t } from '@svc/plugin-sdk'
import { rewardErrors } from '../errors.ts'
import { battleSubmit, MAX_CODE_LENGTH } from './battles.ts'

/** Command instead of an exposed operation: the compiler, which judges the program, must be active. */
export const submitCommand = {
  command: 'reward battle submit',
  summary: 'Submit the repaired program of a battle',
  input: t.object({
    battle_id: t.string({ minLength: 1, maxLength: 100, description: 'Id of the battle.' }),
    file: t.string({ minLength: 1, maxLength: 4_096, description: 'File with the whole program.' })
  }),
  args: ['battle_id', 'file'],
  project: true
} as const satisfies CommandDescriptor

/** Returns the handler of the command. The exit code is 1 if the program is not repaired. */
export function submitHandler(ctx: Pick<PluginContext, 'call'>): CommandHandler {
  return async ({ battle_id, file }, { stdout, json, signal }) => {
    const code = await readProgram(resolve(String(file)), String(file))
    const result = await ctx.call(battleSubmit, { battle_id: String(battle_id), code }, { signal })
    const { success, findings, xp_earned, crystals_earned } = result
    const text = success ? `Repaired: ${xp_earned} xp, ${crystals_earned} crystals` : findings.trimEnd()
    stdout.write(json ? `${JSON.stringify(result)}\n` : `${text}\n`)
    return success ? 0 : 1
  }
}

async function readProgram(path: string, shown: string): Promise<string> {
  const reject = (problem: string, cause?: unknown) =>
    rewardErrors.create('RWD_BATTLE_FILE', `file ${shown}: ${problem}`, {
      at: { file: shown },
      hint: `pass a text file of at most ${MAX_CODE_LENGTH} characters`,
      cause
    })
  const unreadable = (cause: unknown): never => {
    throw reject('it cannot be read', cause)
  }
  const found = await stat(path).catch(unreadable)
  if (!found.isFile()) throw reject('it is not a file')
  // A character has at most 3 bytes for each of its units.
  if (found.size > MAX_CODE_LENGTH * 3) throw reject(`it has ${found.size} bytes`)
  const code = await readFile(path, 'utf8').catch(unreadable)
  if (code.length === 0 || code.length > MAX_CODE_LENGTH) throw reject(`it has ${code.length} characters`)
  return code
}
