/** Pieces of generated sources, which resemble programs. The same seed generates the same sources. */

const PIECES = [
  ...'fn let mut if else while loop break continue match for in to return type import pub with on state derived'.split(
    ' '
  ),
  ...'effect mount cleanup view component actor workflow activity spawn http agent migrate env extern side_effect'.split(
    ' '
  ),
  ...'fragment and or not is isnt true false async routes url state_machine partial from any as key depends_on'.split(
    ' '
  ),
  ...'== != < > <= >= + - * / % = += -= *= /= |> | -> => ? . , : ( ) [ ] { } </ /> <> ! && || ;'.split(' '),
  ...'@table @query @mutation @index @test @mcp.tool @component @island @v0 @form @push @nonsense @ #'.split(' '),
  ...'a b_c Name Some None _ 0 12 1.5 3dec 9223372036854775808 "text" "a\\"b" \'single\' "open \'open'.split(' '),
  '\n',
  '\n\n',
  '\r\n',
  '// comment\n',
  ' ',
  '\t',
  'div',
  'stack(',
  'ä',
  '\u0000',
  '\ud800',
  '😀'
]

export type Random = () => number

/** Returns a generator of numbers from 0 to 1 (mulberry32). */
export function randomFrom(seed: number): Random {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}

export function tokenSoup(random: Random): string {
  const length = 1 + Math.floor(random() * 30)
  const separator = random() < 0.8 ? ' ' : ''
  return Array.from({ length }, () => piece(random)).join(separator)
}

/** Returns `text` with a few random changes: pieces are removed, repeated, moved or replaced. */
export function mutated(text: string, random: Random): string {
  let result = text
  const changes = 1 + Math.floor(random() * 3)
  for (let change = 0; change < changes; change++) {
    const from = Math.floor(random() * result.length)
    const length = Math.floor(random() * 12)
    const cut = result.slice(from, from + length)
    const choice = random()
    const put = choice < 0.3 ? '' : choice < 0.5 ? cut + cut : choice < 0.8 ? ` ${piece(random)} ` : piece(random)
    result = result.slice(0, from) + put + result.slice(from + length)
  }
  return result
}

function piece(random: Random): string {
  return PIECES[Math.floor(random() * PIECES.length)] as string
}
