import { maskCode, maskMentions } from './prompt-mask.ts'
import { type PromptWord, promptWords } from './prompt-words.ts'

export interface Injection {
  /** Kind of injection. */
  readonly marker: 'chat_token' | 'role_marker' | 'tool_call' | 'override' | 'persona' | 'disclosure'
  /** The matched text, at most 80 characters. */
  readonly found: string
}

/** Every injection contains one of these; text without them skips the search. */
const SUSPICIOUS =
  /[^\s -~]|<\||\[\/?inst|<<sys|<start_of|tool_|function_|<invoke|^[ \t#]*system|^human:|^user:|ignor|disregard|forget|overrid|bypass|discard|follow|obey|adhere|you are now|your (?:system|hidden|initial|secret|original|internal) |prompt|instruction/im

/**
 * Finds prompt injections: tokens of chat templates, turns of a conversation, forged tool calls, "ignore the
 * instructions above" and variants, personas without rules, and requests to disclose the prompt.
 *
 * Prefers precision: skips quoted text and code. A verb counts only at the start of a clause and without negation.
 * Instructions that belong to something else (a file, a processor) do not count. Runs in linear time.
 */
export function findInjection(text: string): Injection | null {
  if (!SUSPICIOUS.test(text)) return null
  const masked = maskMentions(text)
  return chatToken(masked) ?? forgedTool(maskCode(text)) ?? roleMarker(masked) ?? order(promptWords(masked))
}

const CHAT_TOKENS: readonly RegExp[] = [
  /<\|(?:im_start|start_header_id|start)\|>\s{0,4}(?:system|assistant|user|developer|tool|ipython)\b/i,
  /^\s{0,4}<\|(?:system|assistant|user|developer)\|>/im,
  /<start_of_turn>\s{0,4}(?:user|model)\b/i,
  /<<SYS>>/
]

function chatToken(text: string): Injection | null {
  for (const pattern of CHAT_TOKENS) {
    const match = pattern.exec(text)
    if (match !== null) return injection('chat_token', match[0])
  }
  const open = text.indexOf('[INST]')
  return open >= 0 && text.indexOf('[/INST]', open) > 0 ? injection('chat_token', '[INST] … [/INST]') : null
}

const TOOL_TAG =
  /<(?:tool_calls?|function_calls?|tool_results?|tool_response|function_results?|invoke)\b[^<>\n]{0,200}>|\[TOOL_CALLS\]|<\|(?:tool_call|python_tag|tool_calls_section_begin)\|>/gi
const TOOL_BODY = /"(?:name|arguments|tool|output|result)"\s{0,8}:|name\s{0,8}=|<(?:invoke|parameter|result|output)\b/i
/** Characters after a tag that are examined. */
const TOOL_REACH = 300

function forgedTool(text: string): Injection | null {
  for (const match of text.matchAll(TOOL_TAG)) {
    // A quoted tag is only mentioned.
    if (/["'“]/.test(text[match.index - 1] ?? '')) continue
    const behind = text.slice(match.index, match.index + match[0].length + TOOL_REACH)
    if (TOOL_BODY.test(behind)) return injection('tool_call', match[0])
  }
  return null
}

const SYSTEM_LINE = /^[ \t]{0,8}#{0,4}[ \t]{0,4}(?:system|system (?:prompt|message|override))[ \t]{0,4}:(.{0,200})/gim
const SYSTEM_ORDER = /\b(?:you (?:are|must|will|shall|may) |ignore |disregard |override |from now on|new instructions)/i

function roleMarker(text: string): Injection | null {
  for (const match of text.matchAll(SYSTEM_LINE))
    if (SYSTEM_ORDER.test(match[1] ?? '')) return injection('role_marker', match[0])
  // A single turn may be a note; a turn and its reply are a forged conversation.
  const human = /(?:^|\n\n)(?:Human|User):/.exec(text)
  const isAnswered = human !== null && text.indexOf('\n\nAssistant:', human.index) >= 0
  return isAnswered ? injection('role_marker', human[0]) : null
}

/** Maximum words between the verb of an instruction and its object. */
const ORDER_REACH = 9

const DISMISSALS = new Set(['ignore', 'disregard', 'forget', 'override', 'bypass', 'discard'])
const OBEDIENCE = new Set(['follow', 'obey', 'adhere', 'heed', 'following', 'obeying'])
const QUALIFIERS = new Set([
  ...['previous', 'prior', 'above', 'earlier', 'preceding', 'foregoing', 'all', 'any', 'every', 'your', 'system'],
  ...['original', 'initial', 'existing', 'former', 'other']
])
const OBJECTS = new Set(['instructions', 'instruction', 'directives', 'directive', 'prompts', 'prompt', 'guidelines'])
/** Ambiguous objects: they count only if they are the model's own. */
const WEAK_OBJECTS = new Set(['rules', 'rule', 'programming', 'training', 'restrictions', 'safeguards', 'constraints'])
const NEGATIONS = new Set([
  'not',
  'never',
  "don't",
  'dont',
  "doesn't",
  "shouldn't",
  "mustn't",
  "won't",
  'cannot',
  "can't",
  'stop'
])
/** Words after which a verb is an instruction, even within a clause. */
const LEADS = new Set([
  ...['please', 'now', 'and', 'then', 'just', 'also', 'immediately', 'instead', 'simply', 'kindly', 'completely', 'so'],
  ...['first', 'always', 'must', 'should', 'you', 'will', 'shall', 'to', 'can', 'may', 'or', 'but', 'totally', 'fully']
])
const PLACES = new Set([
  'in',
  'of',
  'from',
  'within',
  'for',
  'at',
  'on',
  'inside',
  'that',
  'which',
  'whose',
  'where',
  'when',
  'with'
])
/** Places of the model's own instructions; objects in them always count. */
const OWN_PLACES = new Set([
  ...['conversation', 'chat', 'prompt', 'system', 'context', 'session', 'developer', 'message', 'messages', 'above'],
  ...['user', 'operator', 'assistant', 'model', 'you', 'me', 'us', 'openai', 'anthropic', 'before']
])
const DISCLOSURES = new Set([
  'reveal',
  'print',
  'output',
  'show',
  'leak',
  'repeat',
  'display',
  'disclose',
  'expose',
  'tell'
])
const SECRETIVE = new Set(['system', 'hidden', 'initial', 'secret', 'original', 'internal'])
const PERSONAS = new Set(['dan', 'jailbroken', 'unrestricted', 'unfiltered', 'uncensored', 'unbound'])

function order(words: readonly PromptWord[]): Injection | null {
  for (let at = 0; at < words.length; at++) {
    const found = dismissal(words, at) ?? disclosure(words, at) ?? persona(words, at)
    if (found !== null) return injection(found.marker, spoken(words, at, found.end))
  }
  return null
}

interface FoundOrder {
  readonly marker: Injection['marker']
  /** Index of its last word. */
  readonly end: number
}

function dismissal(words: readonly PromptWord[], at: number): FoundOrder | null {
  const verb = textAt(words, at)
  if (DISMISSALS.has(verb)) {
    if (!isOrder(words, at) || isNegated(words, at)) return null
  } else if (!OBEDIENCE.has(verb) || !isNegated(words, at)) return null
  const object = objectOf(words, at)
  if (object === null || (!object.isOwn && isElsewhere(words, object.end))) return null
  return { marker: 'override', end: object.end }
}

interface OrderObject {
  /** Index of its last word. */
  readonly end: number
  /** True if it certainly belongs to the model. */
  readonly isOwn: boolean
}

/** Returns the instructions that are the object of a verb; null if it has another object. */
function objectOf(words: readonly PromptWord[], verb: number): OrderObject | null {
  let isQualified = false
  let isOwn = false
  for (let at = verb + 1; at <= verb + ORDER_REACH && sameSentence(words, verb, at); at++) {
    const text = textAt(words, at)
    const isObject = OBJECTS.has(text)
    if ((isQualified && isObject) || (isOwn && WEAK_OBJECTS.has(text))) return { end: at, isOwn }
    if ((isObject || text === 'everything') && ['above', 'before'].includes(textAt(words, at + 1)))
      return { end: at + 1, isOwn: true }
    if (QUALIFIERS.has(text)) isQualified = true
    if (text === 'your') isOwn = true
  }
  return null
}

/** Returns true if the instructions belong to something other than the model. */
function isElsewhere(words: readonly PromptWord[], object: number): boolean {
  if (!PLACES.has(textAt(words, object + 1)) || !sameSentence(words, object, object + 1)) return false
  for (let at = object + 2; at <= object + 5 && sameSentence(words, object, at); at++)
    if (OWN_PLACES.has(textAt(words, at))) return false
  return true
}

function disclosure(words: readonly PromptWord[], at: number): FoundOrder | null {
  if (!DISCLOSURES.has(textAt(words, at)) || !isOrder(words, at) || isNegated(words, at)) return null
  for (let next = at + 1; next <= at + 4 && sameSentence(words, at, next); next++) {
    if (textAt(words, next) !== 'your' || !SECRETIVE.has(textAt(words, next + 1))) continue
    const object = textAt(words, next + 2)
    if (object === 'prompt' || object === 'instructions' || object === 'message')
      return { marker: 'disclosure', end: next + 2 }
  }
  return null
}

function persona(words: readonly PromptWord[], at: number): FoundOrder | null {
  if (textAt(words, at) !== 'you' || textAt(words, at + 1) !== 'are' || textAt(words, at + 2) !== 'now') return null
  for (let next = at + 3; next <= at + 6 && sameSentence(words, at, next); next++) {
    const text = textAt(words, next)
    if (PERSONAS.has(text)) return { marker: 'persona', end: next }
    if (text === 'longer' && ['bound', 'restricted'].includes(textAt(words, next + 1)))
      return { marker: 'persona', end: next + 1 }
    if (text === 'developer' && textAt(words, next + 1) === 'mode') return { marker: 'persona', end: next + 1 }
  }
  return null
}

/** Returns true if a verb is an instruction to the model, not a statement about something else. */
function isOrder(words: readonly PromptWord[], at: number): boolean {
  if (words[at]?.opens === true) return true
  const before = textAt(words, at - 1)
  if (!LEADS.has(before)) return false
  // "the parser must ignore" is a statement about the parser; "you must ignore" is an instruction.
  if (['must', 'should', 'will', 'shall', 'can', 'may'].includes(before)) return textAt(words, at - 2) === 'you'
  return before !== 'to' || ['you', 'need', 'have', 'want'].includes(textAt(words, at - 2))
}

/** Returns true if the word before a verb negates it or, within the same clause, the second word before. */
function isNegated(words: readonly PromptWord[], at: number): boolean {
  if (!sameSentence(words, at, at - 1)) return false
  if (NEGATIONS.has(textAt(words, at - 1))) return true
  const isOneClause = words[at]?.opens === false && words[at - 1]?.opens === false
  return isOneClause && NEGATIONS.has(textAt(words, at - 2))
}

function sameSentence(words: readonly PromptWord[], one: number, other: number): boolean {
  return words[other] !== undefined && words[one]?.sentence === words[other]?.sentence
}

function textAt(words: readonly PromptWord[], at: number): string {
  return words[at]?.text ?? ''
}

function spoken(words: readonly PromptWord[], from: number, to: number): string {
  return words
    .slice(from, to + 1)
    .map(word => word.text)
    .join(' ')
}

function injection(marker: Injection['marker'], found: string): Injection {
  return { marker, found: found.trim().replace(/\s+/g, ' ').slice(0, 80) }
}
