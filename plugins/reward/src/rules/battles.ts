import { bucket } from './fnv1a.ts'

/** Energy that a battle costs. */
export const BATTLE_ENERGY = 10
export const BATTLE_XP = 60
export const BATTLE_CRYSTALS = 20

/** Program of the language with one error. */
export interface Bug {
  readonly bugType: string
  readonly description: string
  readonly code: string
  /** Lines that a repaired program must still have. */
  readonly keep: readonly string[]
}

export const BUGS: readonly Bug[] = [
  {
    bugType: 'undefined_name',
    description: 'A name is misspelt.',
    code: 'fn total(prices: List[int]) to int {\n    let mut sum = 0\n    for price in prices { sum += prise }\n    sum\n}\n',
    keep: ['fn total(prices: List[int]) to int {', 'for price in prices']
  },
  {
    bugType: 'type_mismatch',
    description: 'A text is added to a number.',
    code: 'fn next_year(year: int) to int {\n    year + "1"\n}\n',
    keep: ['fn next_year(year: int) to int {', 'year +']
  },
  {
    bugType: 'missing_case',
    description: 'A match does not cover all variants.',
    code: 'type Light =\n    | Red\n    | Yellow\n    | Green\n\nfn may_go(light: Light) to bool {\n    match light {\n        Red => false\n        Green => true\n    }\n}\n',
    keep: ['| Yellow', 'fn may_go(light: Light) to bool {', 'match light {', 'Red => false', 'Green => true']
  },
  {
    bugType: 'immutable_assignment',
    description: 'A variable is assigned that cannot change.',
    code: 'fn count_down(from: int) to int {\n    let left = from\n    for _ in range(0, from) { left -= 1 }\n    left\n}\n',
    keep: ['fn count_down(from: int) to int {', 'for _ in range(0, from)', 'left -= 1']
  },
  {
    bugType: 'wrong_arguments',
    description: 'A call has too few arguments.',
    code: 'fn area(width: int, height: int) to int { width * height }\n\nfn square(side: int) to int { area(side) }\n',
    keep: ['fn area(width: int, height: int) to int { width * height }', 'fn square(side: int) to int { area(']
  },
  {
    bugType: 'unclosed_block',
    description: 'A brace is missing.',
    code: 'fn sign(n: int) to str {\n    if n < 0 {\n        "negative"\n    else {\n        "positive"\n    }\n}\n',
    keep: ['fn sign(n: int) to str {', 'if n < 0 {', '"negative"', '"positive"']
  }
]

/** Returns the bug of a user's next battle. `fought`: battles so far. */
export function bugOf(user: string, fought: number): Bug {
  return BUGS[(bucket(BUGS.length, user) + fought) % BUGS.length] as Bug
}

/** Returns the lines of the program that a submission lost; spaces do not count. */
export function lostLines({ keep }: Pick<Bug, 'keep'>, code: string): readonly string[] {
  const plain = (text: string): string => text.replaceAll(/\s+/g, '')
  const submitted = plain(code)
  return keep.filter(line => !submitted.includes(plain(line)))
}
