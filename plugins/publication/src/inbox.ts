import type { Records } from './records.ts'

/** Items of one page of the inbox. */
const MAX_ITEMS = 100

/** Returns a text of strangers without characters that Markdown reads. */
function plain(text: string): string {
  return text.replaceAll(/[*_`[\]<>\\]/g, ' ')
}

/** Returns publications with one approval, as questions to the second person. */
export async function waitingForApproval(records: Records) {
  const drafts = await records.manifests.listWithApprovals({ state: 'draft', limit: 1_000 })
  return drafts
    .filter(({ approvals }) => approvals > 0)
    .slice(0, MAX_ITEMS)
    .map(({ publication_id, title, approvers, content_sha3_256: digest, version, updated_at_ms }) => ({
      id: `${publication_id}:${digest}`,
      kind: 'approval' as const,
      title: `Publication ${publication_id} waits for its second approval`,
      body: `**${plain(title)}**, version ${version}, approved by ${plain(approvers)}. Digest: \`${digest}\``,
      since: updated_at_ms,
      link: `/ui/p/publication/publications/${encodeURIComponent(publication_id)}`,
      answers: [
        {
          label: 'Approve',
          operation: 'publication.approve',
          input: { publication_id, digest },
          tone: 'primary' as const
        },
        {
          label: 'Approve with a token',
          operation: 'publication.approve',
          input: { publication_id, digest },
          ask: ['approver', 'approver_token']
        }
      ]
    }))
}
