/** Kinds of tokens. If the grammar allows only a name, all kinds from `Identifier` to the last keyword can be names. */
export const Kind = {
  EndOfFile: 0,
  Identifier: 1,
  TypeIdentifier: 2,
  Underscore: 3,

  // Contextual keywords, which are names unless the grammar expects the keyword.
  Activity: 4,
  Actor: 5,
  Agent: 6,
  Cleanup: 7,
  Component: 8,
  Derived: 9,
  Effect: 10,
  Env: 11,
  Fragment: 12,
  Http: 13,
  In: 14,
  Migrate: 15,
  Mount: 16,
  On: 17,
  State: 18,
  To: 19,
  Type: 20,
  View: 21,
  Workflow: 22,

  // Words that begin or join an expression or a statement.
  And: 23,
  Async: 24,
  Break: 25,
  Continue: 26,
  Else: 27,
  Extern: 28,
  False: 29,
  Fn: 30,
  For: 31,
  If: 32,
  Import: 33,
  Is: 34,
  Isnt: 35,
  Let: 36,
  Loop: 37,
  Match: 38,
  Mut: 39,
  Not: 40,
  Or: 41,
  Pub: 42,
  Return: 43,
  SideEffect: 44,
  Spawn: 45,
  True: 46,
  While: 47,
  With: 48,

  Int: 49,
  Float: 50,
  Decimal: 51,
  String: 52,
  /** A decorator: `@name`, including dots. */
  Decorator: 53,

  EqualEqual: 54,
  BangEqual: 55,
  Less: 56,
  Greater: 57,
  LessEqual: 58,
  GreaterEqual: 59,
  Plus: 60,
  Minus: 61,
  Star: 62,
  Slash: 63,
  Percent: 64,
  Equal: 65,
  PlusEqual: 66,
  MinusEqual: 67,
  StarEqual: 68,
  SlashEqual: 69,
  Pipe: 70,
  Bar: 71,
  Arrow: 72,
  FatArrow: 73,
  Question: 74,
  Dot: 75,
  Comma: 76,
  Colon: 77,
  LeftParen: 78,
  RightParen: 79,
  LeftBracket: 80,
  RightBracket: 81,
  LeftBrace: 82,
  RightBrace: 83,
  /** `</` */
  LessSlash: 84,
  /** `/>` */
  SlashGreater: 85,
  /** `<>` */
  LessGreater: 86,
  Bang: 87,
  AndAnd: 88,
  BarBar: 89
} as const

export const LAST_SOFT_KEYWORD = Kind.Workflow
export const LAST_KEYWORD = Kind.With

const WORDS: Readonly<Record<string, number>> = {
  activity: Kind.Activity,
  actor: Kind.Actor,
  agent: Kind.Agent,
  and: Kind.And,
  async: Kind.Async,
  break: Kind.Break,
  cleanup: Kind.Cleanup,
  component: Kind.Component,
  continue: Kind.Continue,
  derived: Kind.Derived,
  effect: Kind.Effect,
  else: Kind.Else,
  env: Kind.Env,
  extern: Kind.Extern,
  false: Kind.False,
  fn: Kind.Fn,
  for: Kind.For,
  fragment: Kind.Fragment,
  http: Kind.Http,
  if: Kind.If,
  import: Kind.Import,
  in: Kind.In,
  is: Kind.Is,
  isnt: Kind.Isnt,
  let: Kind.Let,
  loop: Kind.Loop,
  match: Kind.Match,
  migrate: Kind.Migrate,
  mount: Kind.Mount,
  mut: Kind.Mut,
  not: Kind.Not,
  on: Kind.On,
  or: Kind.Or,
  pub: Kind.Pub,
  ret: Kind.Return,
  return: Kind.Return,
  side_effect: Kind.SideEffect,
  spawn: Kind.Spawn,
  state: Kind.State,
  to: Kind.To,
  true: Kind.True,
  type: Kind.Type,
  view: Kind.View,
  while: Kind.While,
  with: Kind.With,
  workflow: Kind.Workflow
}

/** Keywords, for completion and as forbidden new names. */
export const KEYWORDS: readonly string[] = Object.keys(WORDS)

interface Candidate {
  readonly word: string
  readonly length: number
  /** Code of the second letter. */
  readonly second: number
  readonly kind: number
}

const byFirstLetter: readonly (readonly Candidate[])[] = Array.from({ length: 26 }, (_, letter) =>
  KEYWORDS.filter(word => word.charCodeAt(0) === 97 + letter).map(word => {
    return { word, length: word.length, second: word.charCodeAt(1), kind: WORDS[word] as number }
  })
)

/**
 * Returns the kind of the word from `start` to `end`, which begins with a lower-case letter: a keyword or an
 * identifier.
 */
export function kindOfWord(source: string, start: number, end: number): number {
  const candidates = byFirstLetter[source.charCodeAt(start) - 97]
  if (candidates === undefined) return Kind.Identifier
  const given = end - start
  const code = source.charCodeAt(start + 1)
  // Comparing texts is slow, and the second letter rules out most words.
  for (const { word, length, second, kind } of candidates) {
    if (length === given && second === code && source.startsWith(word, start)) return kind
  }
  return Kind.Identifier
}

const SYMBOLS: Readonly<Record<number, string>> = {
  [Kind.EqualEqual]: '==',
  [Kind.BangEqual]: '!=',
  [Kind.Less]: '<',
  [Kind.Greater]: '>',
  [Kind.LessEqual]: '<=',
  [Kind.GreaterEqual]: '>=',
  [Kind.Plus]: '+',
  [Kind.Minus]: '-',
  [Kind.Star]: '*',
  [Kind.Slash]: '/',
  [Kind.Percent]: '%',
  [Kind.Equal]: '=',
  [Kind.PlusEqual]: '+=',
  [Kind.MinusEqual]: '-=',
  [Kind.StarEqual]: '*=',
  [Kind.SlashEqual]: '/=',
  [Kind.Pipe]: '|>',
  [Kind.Bar]: '|',
  [Kind.Arrow]: '->',
  [Kind.FatArrow]: '=>',
  [Kind.Question]: '?',
  [Kind.Dot]: '.',
  [Kind.Comma]: ',',
  [Kind.Colon]: ':',
  [Kind.LeftParen]: '(',
  [Kind.RightParen]: ')',
  [Kind.LeftBracket]: '[',
  [Kind.RightBracket]: ']',
  [Kind.LeftBrace]: '{',
  [Kind.RightBrace]: '}',
  [Kind.LessSlash]: '</',
  [Kind.SlashGreater]: '/>',
  [Kind.LessGreater]: '<>',
  [Kind.Bang]: '!',
  [Kind.AndAnd]: '&&',
  [Kind.BarBar]: '||'
}

const CLASSES: Readonly<Record<number, string>> = {
  [Kind.EndOfFile]: 'end of file',
  [Kind.Identifier]: 'a name',
  [Kind.TypeIdentifier]: 'a name with a capital letter',
  [Kind.Underscore]: '`_`',
  [Kind.Int]: 'a number',
  [Kind.Float]: 'a number',
  [Kind.Decimal]: 'a decimal',
  [Kind.String]: 'a string',
  [Kind.Decorator]: 'a decorator'
}

/** Describes a token kind for messages. */
export function describeKind(kind: number): string {
  const named = CLASSES[kind] ?? SYMBOLS[kind]
  if (named !== undefined) return CLASSES[kind] === undefined ? `\`${named}\`` : named
  return `\`${KEYWORDS.findLast(word => WORDS[word] === kind) ?? ''}\``
}
