/** Lines of a text that another text replaces, from `from` up to, but not including, `until`. */
export interface ChangedLines {
  readonly from: number
  readonly until: number
  readonly replacement: string
}

/** Maximum number of pairs of lines that are compared; beyond it, all lines between the equal ends are one change. */
const MAX_PAIRS = 4_000_000

/** Returns the changes between two texts, by lines, in the order of the lines. */
export function changedLines(before: string, after: string): ChangedLines[] {
  const [old, next] = [linesOf(before), linesOf(after)]
  let start = 0
  while (start < old.length && start < next.length && old[start] === next[start]) start++
  let [oldEnd, nextEnd] = [old.length, next.length]
  while (oldEnd > start && nextEnd > start && old[oldEnd - 1] === next[nextEnd - 1]) {
    oldEnd--
    nextEnd--
  }
  const [rows, columns] = [oldEnd - start, nextEnd - start]
  const common = rows * columns > MAX_PAIRS ? [] : commonLines(old.slice(start, oldEnd), next.slice(start, nextEnd))
  const changes: ChangedLines[] = []
  let [at, other] = [start, start]
  for (const [row, column] of [...common, [rows, columns] as const]) {
    const [oldNext, nextNext] = [start + row, start + column]
    if (oldNext > at || nextNext > other) {
      changes.push({ from: at, until: oldNext, replacement: next.slice(other, nextNext).join('') })
    }
    at = oldNext + 1
    other = nextNext + 1
  }
  return changes
}

/** Returns the lines of a text with their line breaks. */
function linesOf(text: string): string[] {
  return text.match(/[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+/g) ?? []
}

/** Returns the indexes of a longest common subsequence. */
function commonLines(old: readonly string[], next: readonly string[]): (readonly [row: number, column: number])[] {
  const width = next.length + 1
  const lengths = new Uint32Array((old.length + 1) * width)
  const at = (row: number, column: number): number => lengths[row * width + column] as number
  for (let row = old.length - 1; row >= 0; row--) {
    for (let column = next.length - 1; column >= 0; column--) {
      lengths[row * width + column] =
        old[row] === next[column] ? at(row + 1, column + 1) + 1 : Math.max(at(row + 1, column), at(row, column + 1))
    }
  }
  const common: (readonly [number, number])[] = []
  for (let row = 0, column = 0; row < old.length && column < next.length; ) {
    if (old[row] === next[column]) common.push([row++, column++])
    else if (at(row + 1, column) >= at(row, column + 1)) row++
    else column++
  }
  return common
}
