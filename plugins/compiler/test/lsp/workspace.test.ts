import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import t, { type Test } from 'tap'
import {
  DefinitionRequest,
  type Location,
  PrepareRenameRequest,
  ReferencesRequest,
  RenameRequest,
  type WorkspaceEdit
} from 'vscode-languageserver-protocol/node'
import { TextDocument } from 'vscode-languageserver-textdocument'
import { Editor, type OpenFile } from './editor.ts'

const SHAPES = `type Shape = | Circle(r: float) | Square(side: float)

fn area(shape: Shape, scale: float = 1.0) to float {
    match shape { Circle(r) => r * r * scale, Square(side) => side * side }
}

fn twice(n: float) to float { area(Circle(n)) * 2.0 }

component Badge(label: str) {
    view: <p>{label}</p>
}

actor Counter {
    state count: int = 0
    on add(by: int) to int { count + by }
}
`

const FILES = {
  'shapes.vox': SHAPES,
  'app.vox': `import shapes as { Shape, Circle, area, twice as double, Badge, Counter }

fn total(shapes: List[Shape]) to float {
    let sizes = { area: area(Circle(1.0), scale = 2.0) }
    for s in shapes { area(s) }
    sizes.area + double(3.0)
}

component Page() {
    view: <Badge label="a"/>
}

fn count() to int { spawn(Counter).add(1) }
`,
  inner: {
    'deep.vox': 'import shapes.area\nimport app.area as size\n\nfn both(s: any) to float { area(s) + size(s) }\n',
    'whole.vox': 'import shapes\n\nfn f() { shapes.area(shapes.Circle(1.0), scale = 3.0) }\n',
    'other.vox': 'fn area(n: int) to int { n }\n\nfn g() { area(1) }\n'
  },
  node_modules: { 'shapes.vox': 'import shapes.area\n' },
  'notes.txt': 'import shapes.area'
}

interface Project {
  readonly editor: Editor
  readonly folder: string
  open(name: string): Promise<OpenFile>
}

async function project(t: Test): Promise<Project> {
  const folder = t.testdir(FILES)
  const editor = await Editor.start(t, { cwd: folder, folders: [folder] })
  const open = (name: string) => editor.open(join(folder, name), readFileSync(join(folder, name), 'utf8'))
  return { editor, folder, open }
}

/** Formats locations as `file:line:text`, with the text on disk. */
function shown({ folder }: Project, places: readonly Location[]): string[] {
  return places.map(({ uri, range }) => {
    const path = fileURLToPath(uri)
    const document = TextDocument.create(uri, 'vox', 0, readFileSync(path, 'utf8'))
    return `${path.slice(folder.length + 1)}:${range.start.line}:${document.getText(range)}`
  })
}

async function definitionOf(in_: Project, file: OpenFile, mark: string): Promise<string | undefined> {
  const found = await in_.editor.connection.sendRequest(DefinitionRequest.type, file.at(mark))
  return shown(in_, found === null ? [] : [found as Location])[0]
}

async function referencesOf(in_: Project, file: OpenFile, mark: string, includeDeclaration = true): Promise<string[]> {
  const params = { ...file.at(mark), context: { includeDeclaration } }
  return shown(in_, (await in_.editor.connection.sendRequest(ReferencesRequest.type, params)) ?? []).sort()
}

/** Returns the text of each renamed file, by file name. */
async function renamed(in_: Project, file: OpenFile, mark: string, newName: string): Promise<Record<string, string>> {
  const edit = await in_.editor.connection.sendRequest(RenameRequest.type, { ...file.at(mark), newName })
  const { changes = {} } = edit as WorkspaceEdit
  return Object.fromEntries(
    Object.entries(changes).map(([uri, edits]) => {
      const path = fileURLToPath(uri)
      const document = TextDocument.create(uri, 'vox', 0, readFileSync(path, 'utf8'))
      return [path.slice(in_.folder.length + 1), TextDocument.applyEdits(document, edits)]
    })
  )
}

/** A workspace whose files do not change. */
const shared = await project(t)

t.test('a definition is found in its file, through all imports', async t => {
  const in_ = shared
  const app = await in_.open('app.vox')
  t.equal(await definitionOf(in_, app, 'ar|ea(s)'), 'shapes.vox:2:area')
  t.equal(await definitionOf(in_, app, 'Circle, ar|ea'), 'shapes.vox:2:area')
  t.equal(await definitionOf(in_, app, 'dou|ble(3.0'), 'shapes.vox:6:twice')
  t.equal(await definitionOf(in_, app, 'tw|ice as'), 'shapes.vox:6:twice')
  t.equal(await definitionOf(in_, app, 'List[Sh|ape'), 'shapes.vox:0:Shape')
  t.equal(await definitionOf(in_, app, 'area(Cir|cle'), 'shapes.vox:0:Circle')
  t.equal(await definitionOf(in_, app, 'sca|le = 2'), 'shapes.vox:2:scale')
  t.equal(await definitionOf(in_, app, '<Ba|dge'), 'shapes.vox:8:Badge')
  t.equal(await definitionOf(in_, app, 'lab|el='), 'shapes.vox:8:label')
  const deep = await in_.open('inner/deep.vox')
  t.equal(
    await definitionOf(in_, deep, '+ si|ze(s'),
    'shapes.vox:2:area',
    'the definition is found through another import'
  )
  const whole = await in_.open('inner/whole.vox')
  t.equal(await definitionOf(in_, whole, 'shapes.ar|ea'), 'shapes.vox:2:area')
  t.equal(await definitionOf(in_, whole, 'import sh|apes'), 'shapes.vox:0:')
  const other = await in_.open('inner/other.vox')
  t.equal(await definitionOf(in_, other, '{ ar|ea(1'), 'inner/other.vox:0:area')
})

t.test('references are found in all files, from every file', async t => {
  const in_ = shared
  const everywhere = [
    'app.vox:0:area',
    'app.vox:3:area',
    'app.vox:4:area',
    'inner/deep.vox:0:area',
    'inner/deep.vox:1:area',
    'inner/deep.vox:1:size',
    'inner/deep.vox:3:area',
    'inner/deep.vox:3:size',
    'inner/whole.vox:2:area',
    'shapes.vox:2:area',
    'shapes.vox:6:area'
  ]
  const shapes = await in_.open('shapes.vox')
  t.same(await referencesOf(in_, shapes, 'fn ar|ea'), everywhere)
  t.same(
    await referencesOf(in_, shapes, 'fn ar|ea', false),
    everywhere.filter(each => each !== 'shapes.vox:2:area')
  )
  const deep = await in_.open('inner/deep.vox')
  t.same(await referencesOf(in_, deep, '+ si|ze'), everywhere)
  const whole = await in_.open('inner/whole.vox')
  t.same(await referencesOf(in_, whole, 'shapes.ar|ea'), everywhere)
  t.same(await referencesOf(in_, shapes, ', sc|ale'), [
    'app.vox:3:scale',
    'inner/whole.vox:2:scale',
    'shapes.vox:2:scale',
    'shapes.vox:3:scale'
  ])
  const other = await in_.open('inner/other.vox')
  t.same(await referencesOf(in_, other, 'fn ar|ea'), ['inner/other.vox:0:area', 'inner/other.vox:2:area'])
})

t.test('a rename changes all files, but not aliases and record keys', async t => {
  const in_ = shared
  const app = await in_.open('app.vox')
  t.same(await renamed(in_, app, 'ar|ea(s)', 'surface'), {
    'shapes.vox': SHAPES.replaceAll('area', 'surface'),
    'app.vox': FILES['app.vox'].replaceAll('area(', 'surface(').replace('Circle, area', 'Circle, surface'),
    'inner/deep.vox': FILES.inner['deep.vox'].replaceAll('area', 'surface'),
    'inner/whole.vox': FILES.inner['whole.vox'].replaceAll('area', 'surface')
  })
  t.same(await renamed(in_, app, 'tw|ice as', 'doubled'), {
    'shapes.vox': SHAPES.replace('twice', 'doubled'),
    'app.vox': FILES['app.vox'].replace('twice', 'doubled')
  })
  t.same(await renamed(in_, app, 'dou|ble(3', 'two_times'), {
    'app.vox': FILES['app.vox'].replaceAll('double', 'two_times')
  })
  const shapes = await in_.open('shapes.vox')
  t.same(await renamed(in_, shapes, ', sc|ale', 'factor'), {
    'shapes.vox': SHAPES.replaceAll('scale', 'factor'),
    'app.vox': FILES['app.vox'].replaceAll('scale', 'factor'),
    'inner/whole.vox': FILES.inner['whole.vox'].replaceAll('scale', 'factor')
  })
  t.same(await renamed(in_, shapes, 'Bad|ge', 'Sticker'), {
    'shapes.vox': SHAPES.replaceAll('Badge', 'Sticker'),
    'app.vox': FILES['app.vox'].replaceAll('Badge', 'Sticker')
  })
})

t.test('a rename that would change the meaning of another file is refused', async t => {
  const in_ = shared
  const shapes = await in_.open('shapes.vox')
  for (const [mark, newName, message] of [
    ['fn ar|ea', 'total', /`total` already has another meaning/],
    ['fn tw|ice', 'area', /`area` already has another meaning/],
    ['on ad|d', 'plus', /the actor of some calls of `.add` is unknown/]
  ] as const) {
    await t.rejects(renamed(in_, shapes, mark, newName), { message }, `${mark} as ${newName}`)
  }
  const whole = await in_.open('inner/whole.vox')
  await t.rejects(renamed(in_, whole, 'import sh|apes', 'forms'), { message: /the name of a file/ })
  const prepared = await in_.editor.connection.sendRequest(PrepareRenameRequest.type, whole.at('shapes.ar|ea'))
  t.match(prepared, { placeholder: 'area', range: { start: { line: 2, character: 16 } } })
})

t.test('open files take precedence over files on disk, and changes on disk are noticed', async t => {
  const in_ = await project(t)
  const app = await in_.open('app.vox')
  t.equal(await definitionOf(in_, app, 'ar|ea(s)'), 'shapes.vox:2:area')
  writeFileSync(join(in_.folder, 'shapes.vox'), `// Written by another program.\n${SHAPES}`)
  t.equal(await definitionOf(in_, app, 'ar|ea(s)'), 'shapes.vox:3:area')
  const fresh = join(in_.folder, 'fresh.vox')
  await in_.editor.open(fresh, 'import shapes.area\n\nfn h(s: any) { area(s) }\n')
  const found = await in_.editor.connection.sendRequest(ReferencesRequest.type, {
    ...app.at('ar|ea(s)'),
    context: { includeDeclaration: true }
  })
  t.equal(
    found?.filter(({ uri }) => uri === pathToFileURL(fresh).href).length,
    2,
    'the references include an unsaved file'
  )
})

t.test('without a workspace folder, files in the same folder are its neighbours', async t => {
  const folder = t.testdir(FILES)
  const in_ = {
    editor: await Editor.start(t, { cwd: folder }),
    folder,
    open: async () => await Promise.reject(new Error('none'))
  }
  const file = await in_.editor.open(join(folder, 'app.vox'), FILES['app.vox'])
  t.same(await referencesOf(in_, file, 'ar|ea(s)'), [
    'app.vox:0:area',
    'app.vox:3:area',
    'app.vox:4:area',
    'shapes.vox:2:area',
    'shapes.vox:6:area'
  ])
})
