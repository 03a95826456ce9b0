use gobo_proto::DESCRIPTOR_SET;
use prost::Message as _;
use prost_types::FileDescriptorSet;
use tonic::Code;

use super::super::methods::METHODS;
use super::*;

/// The roles of the test's callers: each one alone, all, and none.
fn sets() -> Vec<Vec<Role>> {
    let alone = Role::ALL.into_iter().map(|role| vec![role]);
    alone.chain([Role::ALL.to_vec(), Vec::new()]).collect()
}

/// An access of a file with a token for each set of roles, named by its position, and the other lines.
fn access(lines: &str) -> (Access, tempfile::TempDir) {
    let entries = sets().into_iter().enumerate().map(|(nth, roles)| {
        let name = nth.to_string();
        super::super::access_entry(&super::super::AccessEntry {
            token: &name,
            name: &name,
            roles: &roles,
            tenant: None,
        })
    });
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("access.toml");
    std::fs::write(&path, entries.collect::<String>() + lines).unwrap();
    let policy = super::super::AccessFile(path).open().unwrap();
    (Access { policy: Some(policy), owner: 4711, denials: DenialCounts::default() }, folder)
}

fn with_token(token: &str) -> HeaderMap {
    let mut metadata = HeaderMap::new();
    metadata.insert(AUTHORIZATION, format!("Bearer {token}").parse().unwrap());
    metadata
}

/// The methods that the service has by its descriptor.
fn described() -> Vec<String> {
    let set = FileDescriptorSet::decode(DESCRIPTOR_SET).unwrap();
    let services = set.file.into_iter().flat_map(|file| file.service);
    services.flat_map(|service| service.method).map(|method| method.name().to_owned()).collect()
}

#[test]
fn every_method_has_a_row_and_every_row_a_method() {
    let mut rows: Vec<_> = METHODS.iter().map(|(name, _)| (*name).to_owned()).collect();
    let mut methods = described();
    rows.sort();
    methods.sort();
    assert_eq!(rows, methods);
}

#[test]
fn each_method_is_for_its_role_alone() {
    let (access, _folder) = access("");
    // What the documents promise, written out: not the table that it is judged by.
    let resolve = ["Resolve", "ResolveBatch", "Check", "ImportVocabulary"];
    let read = ["FetchIndex", "FetchVocabulary", "GetVocabulary", "ListVocabularies", "Status"];
    let inspect = ["Describe", "ListIndices"];
    let admin = ["Pin", "Unpin", "ListPins", "CollectGarbage", "RebuildCatalog"];
    for method in described() {
        let is = |methods: &[&str]| methods.contains(&method.as_str());
        for (nth, roles) in sets().into_iter().enumerate() {
            let expected = is(&resolve) && roles.contains(&Role::Resolve)
                || is(&read) && roles.contains(&Role::Read)
                || is(&inspect) && roles.contains(&Role::Inspect)
                || is(&admin) && roles.contains(&Role::Admin)
                || method == "Ping";
            let path = format!("/gobo.v1.Gobo/{method}");
            let answer = access.admit(&path, &Shown::Nothing, &mut with_token(&nth.to_string()));
            assert_eq!(answer.is_ok(), expected, "{method} as {roles:?}");
            if let Err(status) = answer {
                assert_eq!(status.code(), Code::PermissionDenied);
            }
        }
        let unknown =
            access.admit(&format!("/gobo.v1.Gobo/{method}"), &Shown::Nothing, &mut HeaderMap::new());
        assert_eq!(unknown.is_ok(), method == "Ping");
        assert!(unknown.is_ok() || unknown.unwrap_err().code() == Code::Unauthenticated);
    }
    for path in
        ["/gobo.v1.Gobo/Later", "/other.Service/Method", "/", "", "/gobo.v1.Gobo/", "/gobo.v1.Gobo/resolve"]
    {
        for nth in 0..sets().len() {
            let answer = access.admit(path, &Shown::Nothing, &mut with_token(&nth.to_string()));
            assert_eq!(answer.unwrap_err().code(), Code::Unimplemented, "{path:?}");
        }
        let unknown = access.admit(path, &Shown::Nothing, &mut HeaderMap::new());
        assert_eq!(unknown.unwrap_err().code(), Code::Unauthenticated, "{path:?}");
    }
    assert!(access.admit("/grpc.health.v1.Health/Check", &Shown::Nothing, &mut HeaderMap::new()).is_ok());
}

#[test]
fn a_caller_is_known_by_what_it_shows() {
    let lines = "[[certificate]]\nname = \"worker\"\nroles = [\"resolve\"]\n\
                 [[process]]\nuser = 7\nroles = [\"resolve\"]\n[[process]]\ngroup = 8\nroles = [\"read\"]\n";
    let (access, _folder) = access(lines);
    let code = |shown: &Shown, metadata: &HeaderMap| {
        let answer = access.admit("/gobo.v1.Gobo/Resolve", shown, &mut metadata.clone());
        answer.map_or_else(|status| status.code(), |_| Code::Ok)
    };
    let none = HeaderMap::new();
    let process = |uid, gid| Shown::Process { uid, gid };
    let certificate = |name: &str| Shown::Certificate(vec![name.to_owned()]);
    assert_eq!(code(&process(7, 1), &none), Code::Ok);
    assert_eq!(code(&process(9, 8), &none), Code::PermissionDenied);
    assert_eq!(code(&process(9, 9), &none), Code::Unauthenticated);
    assert_eq!(code(&process(4711, 9), &none), Code::Ok, "the owner");
    assert_eq!(code(&process(0, 9), &none), Code::Ok, "root");
    assert_eq!(code(&certificate("worker"), &none), Code::Ok);
    assert_eq!(code(&certificate("other"), &none), Code::Unauthenticated);
    assert_eq!(code(&Shown::Nothing, &none), Code::Unauthenticated);
    // A token says more than where it comes from; a false one is not made good by a certificate.
    assert_eq!(code(&certificate("other"), &with_token("0")), Code::Ok);
    assert_eq!(code(&certificate("worker"), &with_token("false")), Code::Unauthenticated);
    for value in ["0", "Basic 0", "Bearer", "Bearer ", "Bearer  0", "bearer\t0"] {
        let mut metadata = HeaderMap::new();
        metadata.insert(AUTHORIZATION, value.parse().unwrap());
        assert_eq!(code(&Shown::Nothing, &metadata), Code::Unauthenticated, "{value:?}");
    }
    let mut metadata = HeaderMap::new();
    metadata.insert(AUTHORIZATION, HeaderValue::from_bytes(b"Bearer \xff\xfe").unwrap());
    assert_eq!(code(&Shown::Nothing, &metadata), Code::Unauthenticated);
    metadata.insert(AUTHORIZATION, "bEARER 0".parse().unwrap());
    assert_eq!(code(&Shown::Nothing, &metadata), Code::Ok);
}

#[test]
fn a_token_that_is_removed_is_refused() {
    let (access, folder) = access("");
    let resolve = || access.admit("/gobo.v1.Gobo/Resolve", &Shown::Nothing, &mut with_token("0"));
    assert!(resolve().is_ok());
    std::fs::write(folder.path().join("access.toml"), "").unwrap();
    access.policy.as_ref().unwrap().look().unwrap();
    assert_eq!(resolve().unwrap_err().code(), Code::Unauthenticated);
}

#[test]
fn a_tenant_is_the_callers_own_unless_it_may_name_others() {
    let entry = |token: &str, roles: &[Role], tenant| {
        super::super::access_entry(&super::super::AccessEntry { token, name: token, roles, tenant })
    };
    let lines = entry("own", &[Role::Resolve], Some("a"))
        + &entry("none", &[Role::Resolve], None)
        + &entry("gateway", &[Role::Resolve, Role::Forward], Some("g"));
    let (access, _folder) = access(&lines);
    let called = |token: &str, tenants: &[&str]| {
        let mut metadata = with_token(token);
        for tenant in tenants {
            metadata.append(TENANT, HeaderValue::from_bytes(tenant.as_bytes()).unwrap());
        }
        let answer = access.admit("/gobo.v1.Gobo/Resolve", &Shown::Nothing, &mut metadata);
        let tenant = metadata.get(TENANT).map(|tenant| tenant.to_str().unwrap_or("?").to_owned());
        answer.map(|_| tenant.unwrap_or_default()).map_err(|status| status.code())
    };
    let denied = Err(Code::PermissionDenied);
    assert_eq!(called("own", &[]), Ok("a".into()));
    assert_eq!(called("own", &["a"]), Ok("a".into()));
    for forged in [&["b"][..], &["A"], &[""], &["a "], &["a", "b"], &["a", "a"], &["\u{e9}"]] {
        assert_eq!(called("own", forged), denied, "{forged:?}");
        assert_eq!(called("none", forged), denied, "{forged:?}");
    }
    assert_eq!(called("none", &[]), Ok(String::new()));
    assert_eq!(called("none", &["a"]), denied);
    assert_eq!(called("gateway", &[]), Ok("g".into()));
    assert_eq!(called("gateway", &["x"]), Ok("x".into()));
    assert_eq!(called("gateway", &["x", "y"]), denied);
    assert_eq!(access.denials.tenant.load(Ordering::Relaxed), 16);
}

#[test]
fn without_a_file_others_resolve_and_read() {
    let access = Access { policy: None, owner: 4711, denials: DenialCounts::default() };
    let may = |method: &str, shown: &Shown| {
        access.admit(&format!("/gobo.v1.Gobo/{method}"), shown, &mut HeaderMap::new()).is_ok()
    };
    for shown in [Shown::Nothing, Shown::Process { uid: 7, gid: 7 }, Shown::Certificate(Vec::new())] {
        assert!(may("Resolve", &shown) && may("FetchIndex", &shown) && may("ImportVocabulary", &shown));
        assert!(!may("Describe", &shown) && !may("CollectGarbage", &shown) && !may("Pin", &shown));
    }
    assert!(may("CollectGarbage", &Shown::Process { uid: 4711, gid: 1 }));
}
