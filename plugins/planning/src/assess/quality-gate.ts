import { bareWord, wordsOf } from './words.ts'

/**
 * Problems of a step that prevent its execution:
 * - `vague_short`: fewer than 12 characters or 3 words;
 * - `risk_destructive`: deletes data and mentions no way to restore it;
 * - `vague_phrase`: none of the first 6 words is a verb of action;
 * - `manifest_empty_path`: a file with an empty path;
 * - `tbd_placeholder`: "tbd" in the description or as a file.
 */
export type QualityCode =
  | 'vague_short'
  | 'risk_destructive'
  | 'vague_phrase'
  | 'manifest_empty_path'
  | 'tbd_placeholder'

export const SHORT_CHARACTERS = 12
const SHORT_WORDS = 3
const VERB_WITHIN = 6

const DESTRUCTIVE =
  /\brm\s+-(?:rf|fr)\b|\bdrop\s+(?:table|database)\b|\btruncate\b|\bdelete\s+all\b|\bwipe\b|\bnuke\b|\bformat\s+disk\b|\bpurge\b/i
const SAFEGUARD = /\b(?:backup|back\s+up|snapshot|confirm\w*|dry[- ]run|safeguard\w*|rollback|roll\s+back|revert)/i

const ACTION_VERBS = new Set(
  `accept adapt add adjust align allow analyse analyze annotate apply archive assert assess assign attach audit automate
  backport benchmark bind block build bump cache call capture catch change check choose clarify clean clear clone close
  collect combine commit compare compile complete compose compute configure confirm connect consolidate continue convert copy correct
  cover create cut debug declare decide decouple define delete deliver deploy deprecate describe design detect determine
  develop diagnose disable document download draft drop emit enable encrypt enforce enqueue ensure enumerate establish
  estimate evaluate examine execute expand explain explore export expose extend extract fail fetch filter finalize find
  finish fix flag format gather generate group guard handle harden identify implement import improve index initialize inject
  insert inspect install instrument integrate introduce investigate invoke isolate join keep launch lint list load localize
  locate log lower maintain make map mark measure merge migrate mock model modify monitor move name normalize note observe
  open optimize order organize outline package parse patch persist pin plan plot port prepare present prevent print
  prioritize profile propose protect prove provide prune publish pull purge push put query raise read rebuild recommend
  record redesign reduce refactor refine register reject release remove rename reorder repair replace reply report
  reproduce require research reset resolve restore restrict restructure retry return reuse revert review revise rewrite roll
  route run sanitize save scaffold scan schedule search secure select send separate serialize serve set ship show simplify
  simulate sketch sort specify split stabilize start stop store stream streamline study submit summarise summarize support
  survey switch sync synthesize tag test throttle tidy trace track train transfer transform translate trim truncate tune
  unify unit-test unpack update upgrade upload use validate verify visualize wait walk warn wipe wire wrap write`.split(
    /\s+/
  )
)

export function isVagueShort(description: string): boolean {
  const text = description.trim()
  return text.length < SHORT_CHARACTERS || wordsOf(text).length < SHORT_WORDS
}

export function isDestructive(description: string): boolean {
  return DESTRUCTIVE.test(description) && !SAFEGUARD.test(description)
}

export function lacksAction(description: string): boolean {
  return !wordsOf(description)
    .slice(0, VERB_WITHIN)
    .some(word => ACTION_VERBS.has(bareWord(word)))
}

export function isPlaceholder(description: string, files: readonly string[]): boolean {
  return /\btbd\b/i.test(description) || files.some(file => file.trim().toLowerCase() === 'tbd')
}

/** Returns the codes of a step, in the order of {@link QualityCode}. */
export function qualityCodes(description: string, files: readonly string[]): QualityCode[] {
  const codes: QualityCode[] = []
  if (isVagueShort(description)) codes.push('vague_short')
  if (isDestructive(description)) codes.push('risk_destructive')
  if (lacksAction(description)) codes.push('vague_phrase')
  if (files.some(file => file.trim() === '')) codes.push('manifest_empty_path')
  if (isPlaceholder(description, files)) codes.push('tbd_placeholder')
  return codes
}
