/** The build puts them into the page's one sheet. */
declare module '*.css';
