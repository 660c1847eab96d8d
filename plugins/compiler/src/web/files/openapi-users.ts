import type { HirModule, HirType, ProgramUsers, TypeSchemas } from '@svc/contracts'

/** Returns the operations with which users sign up, in and out, by path. */
export function userPaths(
  { table, identity, hasPassword, signUpColumns }: ProgramUsers,
  hir: HirModule,
  schemas: TypeSchemas,
  errorSchema: string
): Record<string, Record<string, object>> {
  const user = schemas.of({ Named: table })
  const columns = hir.tables.find(({ name }) => name === table)?.fields ?? []
  const typeOf = (name: string): HirType | null => columns.find(each => each.name === name)?.type_ann ?? null
  const password = { type: 'string', minLength: 8, maxLength: 1000 }
  const session = { type: 'string', enum: ['cookie', 'token'], default: 'cookie' }
  const object = (properties: Readonly<Record<string, object>>, required: readonly string[]) => ({
    type: 'object',
    properties,
    required,
    additionalProperties: false
  })
  const signedIn = object({ user, token: { type: 'string', description: 'With "session": "token".' } }, ['user'])
  const own = Object.fromEntries(signUpColumns.map(name => [name, schemas.of(typeOf(name))]))
  const error = (status: string, description: string) => [
    status,
    { description, content: { 'application/json': { schema: { $ref: errorSchema } } } }
  ]
  const operation = (id: string, summary: string, result: object, body: object | null, errors: readonly string[]) => ({
    operationId: `auth_${id}`,
    tags: ['auth'],
    summary,
    ...(body === null ? {} : { requestBody: { required: true, content: { 'application/json': { schema: body } } } }),
    responses: {
      '200': { description: 'The result.', content: { 'application/json': { schema: result } } },
      ...Object.fromEntries(errors.map(status => error(status, DESCRIPTIONS[status] as string)))
    }
  })
  const nothing = { type: 'null' }
  const signUp = object({ ...own, password, session }, [...signUpColumns, 'password'])
  const signIn = object({ [identity]: { type: 'string' }, password: { type: 'string' }, session }, [
    identity,
    'password'
  ])
  const change = object({ current: { type: 'string' }, password }, ['current', 'password'])
  const withPassword: Record<string, Record<string, object>> = {
    '/api/auth/sign_up': {
      post: operation('sign_up', 'Creates a user', signedIn, signUp, ['400', '403', '409', '422', '429'])
    },
    '/api/auth/sign_in': {
      post: operation('sign_in', 'Begins a session', signedIn, signIn, ['400', '401', '403', '429'])
    },
    '/api/auth/password': {
      post: operation('password', 'Changes the password', object({ token: { type: 'string' } }, []), change, [
        '400',
        '401',
        '403',
        '429'
      ])
    }
  }
  return {
    ...(hasPassword ? withPassword : {}),
    '/api/auth/sign_out': { post: operation('sign_out', 'Ends the session', nothing, null, []) },
    '/api/auth/me': {
      get: operation('me', 'The user who is signed in, or null', { anyOf: [user, nothing] }, null, [])
    }
  }
}

const DESCRIPTIONS: Readonly<Record<string, string>> = {
  '400': 'An argument is missing, unknown or of the wrong type.',
  '401': 'The password is wrong, or no user is signed in.',
  '403': 'The request comes from a page of another origin, or the current password is wrong.',
  '409': 'There is a user with this name or address.',
  '422': 'The program refuses the user.',
  '429': 'There were too many attempts.'
}
