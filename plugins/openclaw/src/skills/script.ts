import { skillsGatewayErrors } from '@svc/contracts'

/** Maximum size of a script: it is an argument of a program, and Linux allows 128 KiB. */
const MAX_SCRIPT_BYTES = 98_304

/** Returns the script of a skill: its first fenced code block. Throws `SKG_SKILL_INVALID`. */
export function scriptOf(slug: string, text: string): string {
  const lines = text.split(/\r?\n/)
  const begin = lines.findIndex(line => /^(?:```+|~~~+)/.test(line))
  const fence = /^(?:```+|~~~+)/.exec(lines[begin] ?? '')?.[0]
  const end = fence === undefined ? -1 : lines.findIndex((line, at) => at > begin && isEnd(line, fence))
  if (end < 0) throw invalid(slug, 'its text has no fenced code block')
  const script = lines.slice(begin + 1, end).join('\n')
  if (script.trim() === '') throw invalid(slug, 'its first code block is empty')
  if (Buffer.byteLength(script) > MAX_SCRIPT_BYTES) throw invalid(slug, `its script exceeds ${MAX_SCRIPT_BYTES} bytes`)
  if (script.includes('\0')) throw invalid(slug, 'its script contains a NUL character')
  return script
}

/** A closing fence has the same character as the opening one, and at least its length. */
function isEnd(line: string, fence: string): boolean {
  const trimmed = line.trimEnd()
  return trimmed.length >= fence.length && [...trimmed].every(each => each === fence[0])
}

function invalid(slug: string, reason: string): Error {
  return skillsGatewayErrors.create('SKG_SKILL_INVALID', `${slug} cannot run: ${reason}`)
}
