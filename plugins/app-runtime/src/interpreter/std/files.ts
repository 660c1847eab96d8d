import {
  copyFileSync,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  unlinkSync,
  writeFileSync
} from 'node:fs'
import { basename, join } from 'node:path'
import { makeFolder } from '@svc/plugin-sdk/folders'
import { globSync } from 'tinyglobby'
import { type Native, native, textArg } from '../native.ts'
import { error, ok, type Value } from '../value.ts'

const file = (argCount: number, run: (path: string, other: string) => Value): Native =>
  native(
    argCount,
    argCount,
    args => {
      const [path, other] = [textArg(args, 0), argCount === 2 ? textArg(args, 1) : '']
      try {
        return run(path, other)
      } catch (cause) {
        return error((cause as Error).message)
      }
    },
    'fs'
  )

const done =
  (act: (path: string, other: string) => unknown) =>
  (path: string, other: string): Value => {
    act(path, other)
    return ok(null)
  }

/** Functions of files, for programs with the capability fs. Relative paths start at the current folder. */
export const FILES: Readonly<Record<string, Native>> = {
  'std.fs.read': file(1, path => ok(readFileSync(path, 'utf8'))),
  'std.fs.write': file(2, done(writeFileSync)),
  'std.fs.exists': file(1, path => existsSync(path)),
  'std.fs.is_file': file(1, path => existsSync(path) && statSync(path).isFile()),
  'std.fs.is_dir': file(1, path => existsSync(path) && statSync(path).isDirectory()),
  'std.fs.mkdir': file(1, done(makeFolder)),
  'std.fs.list_dir': file(1, path => ok(readdirSync(path).sort())),
  'std.fs.remove': file(
    1,
    done(path => unlinkSync(path))
  ),
  'std.fs.remove_dir_all': file(
    1,
    done(path => rmSync(path, { recursive: true }))
  ),
  'std.fs.copy': file(
    2,
    done((from, to) => copyFileSync(from, to))
  ),
  'std.fs.canonicalize': file(1, path => ok(realpathSync(path))),
  'std.fs.stat': file(1, path => ok(entryOf(path))),
  'std.fs.list_dir_detailed': file(1, path =>
    ok(
      readdirSync(path)
        .sort()
        .map(name => entryOf(join(path, name)))
    )
  ),
  'std.fs.glob': file(1, pattern =>
    ok(globSync(pattern, { dot: true, onlyFiles: false, expandDirectories: false }).sort())
  ),
  'std.fs.read_bytes': native(
    1,
    1,
    (args, machine) => {
      try {
        const bytes = readFileSync(textArg(args, 0))
        machine.allocate(8 * bytes.length)
        return ok([...bytes])
      } catch (cause) {
        return error((cause as Error).message)
      }
    },
    'fs'
  )
}

/** Describes a file. A symbolic link has the size, time and type of its target, and `is_symlink`. */
function entryOf(path: string): Value {
  const isSymlink = lstatSync(path).isSymbolicLink()
  const { size, mtimeMs, isDir, isFile } = targetOf(path)
  return new Map<string, Value>(
    Object.entries({
      name: basename(path),
      path,
      size,
      modified_ms: Math.floor(mtimeMs),
      is_dir: isDir,
      is_file: isFile,
      is_symlink: isSymlink
    })
  )
}

function targetOf(path: string): { size: number; mtimeMs: number; isDir: boolean; isFile: boolean } {
  const stats = statSync(path, { throwIfNoEntry: false }) ?? lstatSync(path)
  return { size: stats.size, mtimeMs: stats.mtimeMs, isDir: stats.isDirectory(), isFile: stats.isFile() }
}
