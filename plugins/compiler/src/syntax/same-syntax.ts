/** True if two syntax trees are equal except for the spans and ids of their nodes. */
export function sameSyntax(left: unknown, right: unknown): boolean {
  if (left === right) return true
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null) return false
  if (Array.isArray(left) !== Array.isArray(right)) return false
  const keys = Object.keys(left)
  return (
    keys.length === Object.keys(right).length &&
    keys.every(key => isPosition(key) || sameSyntax(left[key as keyof typeof left], right[key as keyof typeof right]))
  )
}

function isPosition(key: string): boolean {
  return key === 'start' || key === 'end' || key === 'id'
}
