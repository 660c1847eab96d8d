import { readFile } from 'node:fs/promises'
import { type CommandDescriptor, type CommandHandler, defined, errorMessage, t } from '@svc/plugin-sdk'
import { scholarlyErrors } from './errors.ts'

const MAX_TOKEN_BYTES = 4_096

export const approveCommand = {
  command: 'scholarly approve',
  summary: 'Approve the content of a publication that you read',
  input: t.object({
    publication_id: t.string({ minLength: 1, maxLength: 200, description: 'Id of the publication.' }),
    digest: t.string({
      pattern: '^[0-9a-f]{64}$',
      description: 'Digest of the content that you read, as svc publication show prints it.'
    }),
    as: t.optional(
      t.string({ minLength: 1, maxLength: 400, description: 'Your name. Default: the user of this machine.' })
    ),
    token_file: t.optional(
      t.string({ minLength: 1, description: 'File with your token, if the configuration has one.' })
    )
  }),
  args: ['publication_id']
} as const satisfies CommandDescriptor

interface Input {
  readonly publication_id: string
  readonly digest: string
  readonly as?: string
  readonly token_file?: string
}

/** Passes the approval of a person at the command line on to the plugin publication. */
export function approve(call: (id: string, input: unknown, signal: AbortSignal) => Promise<unknown>): CommandHandler {
  return async (raw, io) => {
    const { publication_id, digest, as, token_file } = raw as unknown as Input
    const approver_token = token_file === undefined ? undefined : await tokenOf(token_file)
    const request = { publication_id, digest, ...defined({ approver: as, approver_token }) }
    const result = await call('publication.approve', request, io.signal)
    const { approver, missing_approvals, state } = result as {
      approver: string
      missing_approvals: number
      state: string
    }
    const rest = missing_approvals === 0 ? `state ${state}` : `${missing_approvals} more by another person is needed`
    io.stdout.write(io.json ? `${JSON.stringify(result)}\n` : `${publication_id}: approved by ${approver}; ${rest}\n`)
    return 0
  }
}

async function tokenOf(file: string): Promise<string> {
  try {
    const text = await readFile(file, 'utf8')
    if (text.length <= MAX_TOKEN_BYTES) return text.trim()
  } catch (error) {
    throw scholarlyErrors.create('SCH_TOKEN_UNREADABLE', `token file ${file}: ${errorMessage(error)}`, { cause: error })
  }
  throw scholarlyErrors.create('SCH_TOKEN_UNREADABLE', `token file ${file}: larger than ${MAX_TOKEN_BYTES} bytes`)
}
