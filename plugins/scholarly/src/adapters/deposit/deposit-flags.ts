import type { Settings } from '../../settings.ts'

type Flags = Pick<Settings, 'attach_manifest_body' | 'publish_deposition' | 'draft_only' | 'publish_now'>

/** Returns whether the body of the manifest is a file of the deposit, if there is no staging folder. */
export function attachesBody({ attach_manifest_body, publish_now }: Flags): boolean {
  return attach_manifest_body || publish_now
}

/** Returns whether a deposit is published: a flag requests it, `draft_only` does not prevent it, and it has a file. */
export function isPublished({ publish_deposition, publish_now, draft_only }: Flags, files: number): boolean {
  return !draft_only && files > 0 && (publish_deposition || publish_now)
}

/** Returns the last step of a plan: what becomes of the draft. */
export function publishStep(flags: Flags, files: number, publish: string, keep: string): string {
  if (isPublished(flags, files)) return publish
  const requested = flags.publish_deposition || flags.publish_now
  if (!requested) return keep
  return flags.draft_only ? `${keep}, since draft_only is set` : `${keep}, since there is no file to publish`
}
