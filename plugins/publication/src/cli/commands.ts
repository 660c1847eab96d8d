import { createInterface } from 'node:readline/promises'
import type { PublicationManifest } from '@svc/contracts'
import { type CommandDescriptor, type CommandHandler, type CommandIo, defined, t } from '@svc/plugin-sdk'
import { publicationErrors } from '../errors.ts'
import { comparison } from '../operations/handlers.ts'
import { oneLine, printable } from '../printable.ts'
import type { Records } from '../records.ts'
import { readToken } from './token.ts'

/** Digits of the digest that a person types as a confirmation. */
const TYPED_DIGITS = 8

const fields = {
  publication_id: t.string({ minLength: 1, maxLength: 200, description: 'Id of the publication.' }),
  digest: t.optional(t.string({ pattern: '^[0-9a-f]{64}$', description: 'Digest of the content that you read.' })),
  as: t.optional(
    t.string({ minLength: 1, maxLength: 400, description: 'Your name. Default: the user of this machine.' })
  ),
  token_file: t.optional(
    t.string({ minLength: 1, description: 'File with your token, if the configuration has one.' })
  ),
  token_stdin: t.boolean({ default: false, description: 'Read your token from standard input.' })
}

export const approveCommand = {
  command: 'publication approve',
  summary: 'Approve the content of a publication after reading it',
  input: t.object(fields),
  args: ['publication_id']
} as const satisfies CommandDescriptor

export const revokeCommand = {
  command: 'publication revoke',
  summary: 'Revoke your approval, as long as nothing was sent',
  input: t.object(fields),
  args: ['publication_id']
} as const satisfies CommandDescriptor

export interface CommandParts {
  readonly records: Records
  /** Token of the setting `approver_token`. */
  readonly token: () => string | undefined
  readonly call: (id: string, input: unknown, signal: AbortSignal) => Promise<unknown>
}

interface Input {
  readonly publication_id: string
  readonly digest?: string
  readonly as?: string
  readonly token_file?: string
  readonly token_stdin: boolean
}

interface Decided {
  readonly approver: string
  readonly state: string
  readonly missing_approvals: number
  readonly is_new?: boolean
  readonly revoked?: boolean
}

/** Approves the content of `--digest`, or the content that the person confirms at the terminal. */
export function approve({ records, token, call }: CommandParts): CommandHandler {
  return async (raw, io) => {
    const input = raw as unknown as Input
    const { publication_id } = input
    const digest = input.digest ?? (await confirm(await records.get(publication_id), records, input, io))
    if (digest === null) {
      io.stderr.write('Nothing was approved.\n')
      return 1
    }
    const request = { publication_id, digest, ...(await who(input, io, token())) }
    const result = (await call('publication.approve', request, io.signal)) as Decided
    if (io.json) io.stdout.write(`${JSON.stringify(result)}\n`)
    else io.stdout.write(`${approvedLine(publication_id, result)}\n`)
    return 0
  }
}

export function revoke({ records, token, call }: CommandParts): CommandHandler {
  return async (raw, io) => {
    const input = raw as unknown as Input
    const { publication_id } = input
    const digest = input.digest ?? (await records.get(publication_id)).content_sha3_256
    const request = { publication_id, digest, ...(await who(input, io, token())) }
    const result = (await call('publication.revoke', request, io.signal)) as Decided
    const { approver, revoked, state } = result
    if (io.json) io.stdout.write(`${JSON.stringify(result)}\n`)
    else if (revoked === true) io.stdout.write(`${publication_id}: ${approver} revoked the approval; state ${state}\n`)
    else io.stdout.write(`${publication_id}: ${approver} had not approved this content\n`)
    return revoked === true ? 0 : 1
  }
}

function approvedLine(id: string, { approver, state, missing_approvals, is_new }: Decided): string {
  const did = is_new === true ? 'approved' : 'had already approved'
  const rest =
    missing_approvals === 0 ? `state ${state}` : `${missing_approvals} more approval by another person is needed`
  return `${id}: ${approver} ${did} it; ${rest}`
}

async function who({ as, token_file, token_stdin }: Input, io: CommandIo, configured: string | undefined) {
  if (token_file !== undefined && token_stdin)
    throw publicationErrors.create('PUB_OPTIONS_CONFLICT', 'use --token-file or --token-stdin, not both')
  const isRead = token_file !== undefined || token_stdin
  const token = isRead ? await readToken(io, token_file ?? null) : configured
  return defined({ approver: as, approver_token: token })
}

/** Shows what would be approved. Returns its digest if the person types the beginning of it, else null. */
async function confirm(
  manifest: PublicationManifest,
  records: Records,
  { publication_id, token_stdin }: Input,
  io: CommandIo
): Promise<string | null> {
  if (io.json || token_stdin || io.stdin.isTTY !== true || io.stdout.isTTY !== true)
    throw publicationErrors.create(
      'PUB_OPTIONS_CONFLICT',
      `publication ${publication_id}: without a terminal, --digest must name the content that you read`,
      { hint: `svc publication show ${publication_id} --body` }
    )
  const digest = manifest.content_sha3_256
  const { text } = await comparison(manifest, await records.manifests.revision(publication_id, 'approved'))
  io.stdout.write(
    `Title:   ${oneLine(manifest.title)}\nAuthor:  ${oneLine(manifest.author)}\nVersion: ${manifest.version}\nDigest:  ${digest}\n\n`
  )
  io.stdout.write(`Changes since the last approved content:\n${printable(text)}\n\n`)
  const ask = createInterface({ input: io.stdin, output: io.stdout, terminal: true })
  try {
    const typed = await ask.question(
      `Type the first ${TYPED_DIGITS} digits of the digest to approve, or nothing to leave: `,
      { signal: io.signal }
    )
    return typed.trim() === digest.slice(0, TYPED_DIGITS) ? digest : null
  } finally {
    ask.close()
  }
}
