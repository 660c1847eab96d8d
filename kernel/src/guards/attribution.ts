import { sep } from 'node:path'
import { fileURLToPath } from 'node:url'

const FRAME = /^ +at (?:.+? \((.+):(\d+):\d+\)|(?:async )?(.+):(\d+):\d+)$/gm
const owners = new Map<string, string>()

/** Registers a plugin as the owner of the code in its package folder. */
export function claim(root: string, plugin: string): void {
  owners.set(root, plugin)
}

/**
 * Returns the plugin whose package contains a file, also in its node_modules. Of nested packages, the innermost counts.
 */
export function ownerOfFile(path: string): string | undefined {
  let best = ''
  for (const root of owners.keys()) {
    if (root.length > best.length && path.startsWith(root + sep)) best = root
  }
  return owners.get(best)
}

/**
 * Returns the plugin that an error belongs to: the owner of the innermost stack frame with an owner, else of its cause.
 */
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

/** Yields the frames of a stack trace, innermost first. */
export function* framesOf(stack: string | undefined): Generator<StackFrame> {
  for (const [, called, calledLine, plain, plainLine] of (stack ?? '').matchAll(FRAME)) {
    const place = called ?? plain ?? ''
    yield { file: place.startsWith('file:') ? fileURLToPath(place) : place, line: Number(calledLine ?? plainLine) }
  }
}
