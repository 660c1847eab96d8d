import type { Template } from '../template.ts'

/** Template of a command-line program. */
export const hello: Template = {
  summary: 'a command-line program',
  isServed: false,
  program: `// Run it with \`svc run app.vox\`, its tests with \`svc test app.vox\`.

fn greeting(name: str) to str {
    "Hello, " + name + "!"
}

fn main() {
    print(greeting("world"))
}

@test("a greeting contains the name")
fn greets() {
    assert(greeting("Ada") is "Hello, Ada!")
}
`
}
