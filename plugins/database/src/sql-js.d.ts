declare module 'sql.js' {
  const initSqlJs: () => Promise<unknown>
  export default initSqlJs
}
