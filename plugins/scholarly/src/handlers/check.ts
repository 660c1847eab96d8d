import { RemoteClient, RemoteFailure } from '@svc/contracts'
import type { Handler } from '@svc/plugin-sdk'
import { callerError } from '../failures.ts'
import type { scholarlyCheck } from '../operations/check.ts'
import type { HandlerParts } from './parts.ts'

const MAX_ACCOUNT_CHARACTERS = 200

export function checkHandler({ choice, mask }: Pick<HandlerParts, 'choice' | 'mask'>): Handler<typeof scholarlyCheck> {
  return async ({ adapter: wanted }, { signal }) => {
    const adapter = choice.find(wanted)
    const { name } = adapter
    try {
      choice.checkEnabled(adapter)
      const problem = await adapter.problem()
      if (problem !== null)
        throw new RemoteFailure(`${problem.message}; ${problem.hint}`, {
          failureClass: problem.failureClass,
          code: 'problem'
        })
      if (adapter.checkAccess === undefined)
        return {
          adapter: name,
          checked: false,
          account: null,
          text: `${name}: ready; it has no request to check access`
        }
      const attempts = adapter.httpAttempts?.()
      const http = new RemoteClient({ service: name, signal, ...(attempts === undefined ? {} : { attempts }) })
      const { account } = await adapter.checkAccess({ signal, http })
      const shown = account === null ? null : mask(account).slice(0, MAX_ACCOUNT_CHARACTERS)
      const text = `${name}: the credentials work${shown === null ? '' : `, for the account ${shown}`}`
      return { adapter: name, checked: true, account: shown, text }
    } catch (error) {
      throw callerError(error)
    }
  }
}
