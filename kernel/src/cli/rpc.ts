import { adminErrors } from '@svc/contracts'
import type { CommandSession } from './commands.ts'
import { findDaemon } from './daemon.ts'
import { interruptible } from './interrupt.ts'
import { readJson } from './json-input.ts'
import { Output } from './output.ts'

/** Runs `svc rpc METHOD JSON`. Throws `CLI_NO_DAEMON`. */
export async function callMethod(session: CommandSession, method: string, json: string | undefined): Promise<number> {
  const daemon = await findDaemon(session)
  if (daemon === null) {
    throw adminErrors.create('CLI_NO_DAEMON', `no daemon runs for ${session.catalog.projectRoot}`, {
      hint: 'start one: svc daemon start'
    })
  }
  const params = await readJson(json)
  const output = new Output(session.flags.json, undefined)
  return interruptible(async signal => output.finish(await daemon.call(method, params, signal, output)))
}
