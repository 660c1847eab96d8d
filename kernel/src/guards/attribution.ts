import { sep } from 'node:path'
import { fileURLToPath } from 'node:url'

const FRAME = /^ +at (?:.+? \((.+):(\d+):\d+\)|(?:async )?(.+):(\d+):\d+)$/gm
const owners = new Map<string, string>()

/** Records the owner of the code in a package folder. */
export function claim(root: string, plugin: string): void {
  owners.set(root, plugin)
}

/** The plugin whose package holds a file, its own node_modules included; for nested packages, the innermost one. */
export function ownerOfFile(path: string): string | undefined {
  let best = ''
  for (const root of owners.keys()) {
    if (root.length > best.length && path.startsWith(root + sep)) best = root
  }
  return owners.get(best)
}

/** The plugin on whose behalf an error was thrown: the owner of the innermost frame that has one, then of the cause's. */
export function ownerOf(error: unknown): string | undefined {
  for (let each = error, depth = 0; each instanceof Error && depth < 5; each = each.cause, depth += 1) {
    for (const frame of framesOf(each.stack)) {
      const owner = ownerOfFile(frame.file)
      if (owner !== undefined) return owner
    }
  }
  return undefined
}

export interface StackFrame {
  /** Path of a file, or a name such as `node:net`. */
  readonly file: string
  readonly line: number
}

/** Frames of a stack, innermost first. */
export function* framesOf(stack: string | undefined): Generator<StackFrame> {
  for (const [, called, calledLine, plain, plainLine] of (stack ?? '').matchAll(FRAME)) {
    const place = called ?? plain ?? ''
    yield { file: place.startsWith('file:') ? fileURLToPath(place) : place, line: Number(calledLine ?? plainLine) }
  }
}
