import type { StubFinding } from '@svc/contracts'
import { sourceLanguage } from '../engine/language.ts'
import { LineIndex } from '../engine/line-index.ts'
import { TEST_PATH } from '../rules/rule.ts'

const GUARD_CATEGORIES = [
  'direct-env-read',
  'serialize-secret-material',
  'log-secret-material',
  'model-context-secret-material'
] as const

export type GuardCategory = (typeof GUARD_CATEGORIES)[number]

/** Names of environment variables that hold a secret. */
const SECRET_NAME =
  /(?:^|_)(?:SECRET|TOKEN|PASSWORD|PASSWD|API_KEY|APIKEY|ACCESS_KEY|PRIVATE_KEY|SIGNING_KEY|MASTER_KEY|CREDENTIALS?)(?:_|$)/
/** Names that only contain such a word: limits, counts and places. */
const NO_SECRET_NAME =
  /(?:MAX|MIN|NUM|COUNT|LIMIT|BUDGET|TTL|TIMEOUT|BUCKET|FILE|PATH|DIR|URL|ENABLED)(?:_|$)|_TOKENS(?:_|$)/

/** A read of an environment variable in TypeScript, JavaScript, Python or Rust. */
const READS =
  /\bprocess\.env(?:\.([A-Z][A-Z0-9_]*)|\[\s*["'`]([A-Z][A-Z0-9_]*)["'`]\s*\])|\bimport\.meta\.env\.([A-Z][A-Z0-9_]*)|\b(?:Deno\.env\.get|os\.getenv|os\.environ\.get|env::var|env!|option_env!|std::env::var)\s*\(\s*["']([A-Z][A-Z0-9_]*)["']|\bos\.environ\[\s*["']([A-Z][A-Z0-9_]*)["']\s*\]/g

/** A variable or property with the value of a secret. */
const SECRET_VALUE =
  /(?<![\w$])(?:[\w$]+\.)*(?:[\w$]*(?:[sS]ecret|[pP]assword|[pP]assphrase|[aA]piKey|api_key|[pP]rivateKey|private_key|[cC]redentials?)|(?:access|auth|bearer|refresh|session|id|api|mesh|admin)?_?[tT]oken|(?:access|auth|bearer|refresh|session|api|mesh|admin)Token)(?![\w$(:]|\s*(?:[!=]==?|\?(?![?.])|\.(?:length|size|kind|type|name|id|slice)\b|=>|instanceof\b|in\b))/
const CALLS: readonly (readonly [GuardCategory, RegExp])[] = [
  [
    'serialize-secret-material',
    /\b(?:JSON\.stringify|serialize|structuredClone|json\.dumps|pickle\.dumps|serde_json::to_\w+|v8\.serialize)\s*\(/g
  ],
  [
    'log-secret-material',
    /\b(?:console|log|logger|logging|ctx\.log|this\.log|io\.stdout|io\.stderr|process\.stdout|process\.stderr)\.\w+\s*\(|\b(?:e?println!|print|tracing::\w+!|log::\w+!)\s*\(/g
  ],
  [
    'model-context-secret-material',
    /\b(?:prompt|systemPrompt|system_prompt|messages|chatMessages|modelContext|context\.messages)(?:\.push)?\s*(?:=(?!=)|\+=|:|\()/g
  ]
]
const ALLOWED = /\bsecret-guard:\s*allow\b/

/** Characters after a call that belong to its arguments. */
const MAX_ARGUMENTS = 400

/**
 * Finds reads of managed secrets from the environment, and secrets that are serialised, logged or sent to a model. `managed`:
 * names of environment variables that hold secrets.
 */
export function guardFile(
  path: string,
  text: string,
  code: string,
  source: string,
  managed: ReadonlySet<string>
): StubFinding[] {
  if (sourceLanguage(path) === null || TEST_PATH.test(path)) return []
  const lines = new LineIndex(text)
  const findings: StubFinding[] = []
  const seen = new Set<string>()
  const add = (category: GuardCategory, offset: number, message: string, suggestion: string): void => {
    const line = lines.lineAt(offset)
    const key = `${category} ${line}`
    if (seen.has(key) || ALLOWED.test(lines.line(line)) || (line > 1 && ALLOWED.test(lines.line(line - 1)))) return
    seen.add(key)
    findings.push({
      ruleId: `secret-env-guard/${category}`,
      ruleName: category,
      severity: 'error',
      file: path,
      line,
      column: offset - lines.startOf(line) + 1,
      message,
      suggestion,
      context: ''
    })
  }
  for (const match of source.matchAll(READS)) {
    const name = match.slice(1).find(each => each !== undefined) ?? ''
    if (code[match.index] === ' ') continue
    if (managed.has(name) || (SECRET_NAME.test(name) && !NO_SECRET_NAME.test(name)))
      add(
        'direct-env-read',
        match.index,
        `the secret ${name} is read from the environment`,
        'declare a secret setting, and read it from the settings'
      )
  }
  const flow = withSubstitutions(source, code)
  for (const [category, pattern] of CALLS)
    for (const match of flow.matchAll(pattern)) {
      const from = match.index + match[0].length
      const argument = argumentsOf(flow, from, match[0])
      const secret = SECRET_VALUE.exec(argument)
      // A bare token is as often a piece of text; in a log it is reported all the same.
      const isText = category !== 'log-secret-material' && /(?:^|\.)token$/.test(secret?.[0] ?? '')
      if (secret !== null && !isText)
        add(category, match.index, `${secret[0]} ${SAYS[category]}`, 'leave the value out, or pass whether it is set')
    }
  return findings.sort((one, other) => one.line - other.line)
}

const SAYS: Readonly<Record<GuardCategory, string>> = {
  'direct-env-read': '',
  'serialize-secret-material': 'is serialised',
  'log-secret-material': 'is written to a log',
  'model-context-secret-material': 'becomes part of the input of a model'
}

/** The code with the expressions inside of template strings, which would otherwise be blanked as text. */
function withSubstitutions(source: string, code: string): string {
  let result = ''
  let done = 0
  for (const match of source.matchAll(/\$\{([^{}\n]{1,200})\}/g)) {
    const start = match.index + 2
    const end = start + (match[1] as string).length
    result += code.slice(done, start) + source.slice(start, end)
    done = end
  }
  return result + code.slice(done)
}

/** Text up to the bracket that closes the call, or up to the end of the line for an assignment. */
function argumentsOf(code: string, from: number, call: string): string {
  const limit = Math.min(code.length, from + MAX_ARGUMENTS)
  if (!call.endsWith('(')) {
    // The value of an assignment or of a property.
    return /^[^\n,;]*/.exec(code.slice(from, limit))?.[0] ?? ''
  }
  let depth = 1
  for (let at = from; at < limit; at++) {
    const character = code[at]
    if (character === '(') depth += 1
    else if (character === ')' && --depth === 0) return code.slice(from, at)
  }
  return code.slice(from, limit)
}
